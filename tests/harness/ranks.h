/* ranks.h - a test program that starts itself as several ranks, under each MPI that is installed.
 */
#ifndef TF_TESTS_RANKS_H
#define TF_TESTS_RANKS_H

/* The MPIs, NULL last. */
extern const char *const mpis[];

/* Can this machine start ranks with this MPI? If not, a check is skipped. Also lets the library
 * find the plugins. */
int have_mpi(const char *mpi);
/* Run this program as n ranks with the arguments `what` and n, and return the launcher's status. */
int launch_ranks(const char *mpi, int n, const char *what);

#endif
