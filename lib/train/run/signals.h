/* signals.h - requests to a training run: flags that signal handlers set and the loop checks. */
#ifndef TF_TRAIN_RUN_SIGNALS_H
#define TF_TRAIN_RUN_SIGNALS_H

#include <signal.h>

/* TERM, INT, HUP: stop. USR2: save and stop with status 75. USR1: checkpoint now. A second INT ends
 * the process at once. */
extern volatile sig_atomic_t tf_stop;           /* stop at the next step boundary */
extern volatile sig_atomic_t tf_stop_signal;    /* TERM, INT, HUP or USR2 */
extern volatile sig_atomic_t tf_save_requested; /* USR1 arrived; the loop clears it */

/* Handlers for the time before there is anything to save: USR1 sets its flag, USR2 calls `stop`,
 * the others keep their default action. */
void tf_signals_catch_early(void (*stop)(int));
/* Install the handlers; a signal that was ignored at start (nohup) stays ignored. */
void tf_signals_catch(void);
/* What this process votes for: the signal that stops it; 0: none. */
int tf_signals_stop(void);
/* The same on a rank that only passes signals on: else SIGUSR1, which it then forgets. */
int tf_signals_any(void);
/* Take a signal that another rank got as our own; 0: none. */
void tf_signals_take(int sig);
/* After a stop by TERM, INT or HUP: end the process by that signal. Returns after USR2, and when
 * there was none. */
void tf_signals_reraise(void);

#endif
