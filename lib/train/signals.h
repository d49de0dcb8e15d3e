/* signals.h - what is asked of a training run from outside: flags that handlers set and the loop
 * looks at. */
#ifndef TF_TRAIN_SIGNALS_H
#define TF_TRAIN_SIGNALS_H

#include <signal.h>

/* TERM, INT, HUP: stop. USR2: save and stop with status 75. USR1: checkpoint now. A second INT ends
 * the process at once. SIGPIPE is ignored. */
extern volatile sig_atomic_t tf_stop;        /* stop at the next border of an update */
extern volatile sig_atomic_t tf_stop_signal; /* TERM, INT, HUP or USR2 */
extern volatile sig_atomic_t tf_save_asked;  /* USR1 came; the loop clears it */

/* While there is nothing to save yet: USR1 sets its flag, USR2 calls `stop`, the others end the
 * process as they always do. */
void tf_signals_catch_early(void (*stop)(int));
/* Install the handlers; a signal that was ignored at start (nohup) stays ignored. */
void tf_signals_catch(void);
/* End as the stopping signal wants it: by that signal. Does not return when there was one; returns
 * at once for USR2 or none. */
void tf_signals_reraise(void);

#endif
