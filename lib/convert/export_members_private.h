/* export_members_private.h - which members of a configuration a format of another program has. One
 * that it does not name is refused, so that none is lost in silence. */
#ifndef TF_CONVERT_EXPORT_MEMBERS_PRIVATE_H
#define TF_CONVERT_EXPORT_MEMBERS_PRIVATE_H

#include "convert/foreign_private.h"

/* Refuse, by name, each member of e->config with a value that the format cannot express. A member
 * that it does not name must have the value that a map without it means. */
void tf_export_check_members(struct tf_export *e, const struct tf_export_format *format);

#endif
