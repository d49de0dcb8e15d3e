/* version.h - which tf-tools this is. */
#ifndef TF_BASE_VERSION_H
#define TF_BASE_VERSION_H

/* The release, "0.1.0": what streams and models record, so that two builds of one release write the
 * same bytes. */
extern const char tf_version[];
/* The release and the commit that was built, "0.1.0+8f3a1b2c4d5e": for people. ".dirty" follows if
 * the checkout had changes; without git and outside a tarball of `make dist`, only the release. */
extern const char tf_build[];

#endif
