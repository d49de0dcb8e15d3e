/* signals.c - handlers that set flags. */
#include "train/run/signals.h"

#include <string.h>

volatile sig_atomic_t tf_stop, tf_stop_signal, tf_save_requested;

/* The last signal that stopped this process; tf_stop_signal may be that of another rank. */
static volatile sig_atomic_t arrived;

static void on_stop(int sig)
{
    if (sig == SIGINT && arrived == SIGINT) {
        /* The last checkpoint is complete, and the next start removes temporary files. */
        signal(sig, SIG_DFL);
        raise(sig);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, sig);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        return;
    }
    arrived = tf_stop_signal = sig;
    tf_stop = 1;
}

static void on_save(int sig)
{
    (void)sig;
    tf_save_requested = 1;
}

static void catch (int sig, void (*handler)(int))
{
    struct sigaction old, sa;
    if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sa.sa_flags = SA_RESTART;
    sigfillset(&sa.sa_mask);
    sigaction(sig, &sa, NULL);
}

void tf_signals_catch_early(void (*stop)(int))
{
    catch (SIGUSR2, stop);
    catch (SIGUSR1, on_save);
}

void tf_signals_catch(void)
{
    catch (SIGTERM, on_stop);
    catch (SIGINT, on_stop);
    catch (SIGHUP, on_stop);
    catch (SIGUSR2, on_stop);
}

int tf_signals_stop(void)
{
    return tf_stop ? (int)tf_stop_signal : 0;
}

int tf_signals_any(void)
{
    int sig = tf_signals_stop();
    if (!tf_save_requested)
        return sig;
    tf_save_requested = 0;
    return sig != 0 ? sig : SIGUSR1;
}

void tf_signals_take(int sig)
{
    if (sig == SIGUSR1) {
        tf_save_requested = 1;
    } else if (sig != 0 && !tf_stop) {
        tf_stop_signal = sig;
        tf_stop = 1;
    }
}

void tf_signals_reraise(void)
{
    int sig = tf_stop_signal;
    if (sig == 0 || sig == SIGUSR2)
        return;
    signal(sig, SIG_DFL);
    raise(sig);
}
