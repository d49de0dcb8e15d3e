/* sandbox.h - what a process may still do when a hostile file has taken it over: read the files
 * that its user named, write where its outputs are. The kernel enforces it: Landlock for files
 * (landlock(7), Linux 5.13), a seccomp filter for system calls (seccomp(2), x86-64 and aarch64),
 * no_new_privs. What the kernel lacks is left out silently; nothing can be undone.
 *
 * Nothing is applied if TF_SANDBOX=no, or in a build with sanitizers, whose leak check traces its
 * own process. Descriptors that are open already stay as they are. Call both functions before
 * threads are started. */
#ifndef TF_BASE_SANDBOX_H
#define TF_BASE_SANDBOX_H

#include "base/opt.h"

struct tf_sandbox {
    /* A file may be read; a directory with all below it, and with the files that the links directly
     * in it refer to (TF_SANDBOX_LINKS of them). Another file that takes its name later may not,
     * nor one that did not exist. */
    struct tf_strs read;
    /* All below the directories of these files may be read; for a link, also all below the
     * directory of the file that it refers to. */
    struct tf_strs beside;
    /* An output of base/output.h: files may be created, written, renamed and removed in its
     * directory and below; a device or FIFO may be written to. */
    struct tf_strs write;
    /* A directory in which all of that is allowed, and reading, as above. In the directory that
     * contains it, directories may be listed and synced. If it does not exist, that one has the
     * rights in its place. */
    struct tf_strs dirs;
    /* Programs may be started, sockets used, other processes signalled. The programs inherit the
     * sandbox. */
    bool processes;
    /* The process may make copies of itself (base/copies.h), which have the same sandbox. */
    bool copies;
    /* No sandbox: for a plugin whose driver needs more than can be listed. */
    bool off;
};

/* Links in one directory whose files may be read; further links are not followed. */
enum { TF_SANDBOX_LINKS = 10000 };

/* What is in force. */
enum { TF_SANDBOX_FILES = 1, TF_SANDBOX_CALLS = 2, TF_SANDBOX_SEALED = 4 };

/* Enter the sandbox. Besides *s a process may read the system's libraries. Returns what is in
 * force, 0 for nothing. */
unsigned tf_sandbox_enter(const struct tf_sandbox *s);

/* After tf_sandbox_enter, when everything is open and before a file is parsed by code that is not
 * ours: from here on only the calls that work on open descriptors and memory, no new code, no new
 * file. Renaming, removing and syncing a directory remain, which finish an output. Does nothing if
 * no filter is in force or `processes` was set. Returns what is in force. */
unsigned tf_sandbox_seal(void);

/* From here to tf_sandbox_unlimit, code that is not ours parses a hostile file. When the process
 * has taken so many more seconds of CPU time, it prints "tf-x: text", removes its temporary files
 * and ends with TF_FAILED, since other code can only be stopped that way. Beyond so many bytes of
 * memory, the rest of the process included, allocation fails (not with sanitizers, whose own is far
 * more). Uses SIGPROF. In force without a sandbox, too. */
void tf_sandbox_limit(double seconds, size_t bytes, const char *text);
void tf_sandbox_unlimit(void);

#endif
