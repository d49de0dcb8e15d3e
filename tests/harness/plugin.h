/* plugin.h - where test programs find plugins. */
#ifndef TF_TESTS_PLUGIN_H
#define TF_TESTS_PLUGIN_H

/* Set TF_BACKEND_DIR, unless it is set, to the directory of the tools in the build tree of this
 * program, if there is a plugin in it: the program is in BUILD/tests/KIND, the plugin in BUILD/bin.
 */
void use_built_plugin(void);

#endif
