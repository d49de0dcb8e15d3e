/* ranks.c - see ranks.h. */
#include "ranks.h"
#include "plugin.h"
#include "tap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const mpis[] = {"openmpi", "mpich", NULL};

int have_mpi(const char *mpi)
{
    char path[PATH_MAX], command[200];
    use_built_plugin();
    const char *dir = getenv("TF_BACKEND_DIR");
    snprintf(path, sizeof path, "%s/tf-comm-%s.so", dir != NULL ? dir : "", mpi);
    snprintf(command, sizeof command, "command -v mpirun.%s >/dev/null", mpi);
    if (access(path, F_OK) == 0 && system(command) == 0)
        return 1;
    snprintf(command, sizeof command, "no %s: ranks are not tested with it", mpi);
    skip(command);
    return 0;
}

int launch_ranks(const char *mpi, int n, const char *what)
{
    char exe[PATH_MAX], command[PATH_MAX + 200];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[length > 0 ? length : 0] = 0;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    snprintf(command, sizeof command, "timeout 240 mpirun.%s -n %d %s '%s' %s %d </dev/null >&2",
             mpi, n, strcmp(mpi, "openmpi") == 0 ? "--oversubscribe --bind-to none" : "", exe, what,
             n);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
