/* terminal_private.h - tools of one pipe share a terminal as stderr; one of them shows progress on
 * it.
 *
 * Who it is follows from record locks, which end with their process. Each tool that has progress to
 * show locks a byte of the terminal, at an offset made of the ids of its job (process group) and of
 * itself: the tool that was started last, in a pipe the one closest to its end, shows its line. A
 * tool that reads lines typed at the terminal or writes its output to it locks a byte after all
 * these, and nobody shows progress. A background job shows none either. On a system that cannot
 * lock terminals every tool shows its own. */
#ifndef TF_BASE_TERMINAL_PRIVATE_H
#define TF_BASE_TERMINAL_PRIVATE_H

#include <stdbool.h>

/* This process has progress to show; stderr is a terminal. */
void tf_terminal_enter(void);
void tf_terminal_leave(void);
/* May this process, which has entered, draw its line now? */
bool tf_terminal_mine(void);
/* Is a progress line to be cleared before other output? own: this process has drawn one. False
 * without a terminal, and among lines of text. */
bool tf_terminal_has_line(bool own);
/* This process is about to read from or write to descriptor fd: if that is the terminal of stderr,
 * end all progress of the job, and clear what is left of it. */
void tf_terminal_use(int fd);

#endif
