/* What the vault keeps when it gives up the rest (apart/confine.h): two directories, and the system
 * calls of the table below. Called once, by serve.c. */
#include "vault/internal.h"

#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"

/* The keys belong to its user from now on. */
static int give(const void *arg, const struct passwd *pw, struct phx_err *err)
{
	const struct phx_vault_config *c = arg;
	PHX_AUTO_FREE char *people = phx_path("%s/people", c->pki_dir);
	int r = people ? phx_confine_give_dir(c->pki_dir, pw, err) : -ENOMEM;
	if (r == 0 && access(people, F_OK) == 0)
		r = phx_confine_give_dir(people, pw, err);
	return r ? r : phx_confine_give_dir(c->key_dir, pw, err);
}

/* Memory, clocks, files below the two directories, and the sockets it is given: none makes another
 * process, a socket, or reads another process's memory. */
static const int calls[] = {
	SCMP_SYS(read),          SCMP_SYS(write),
	SCMP_SYS(recvfrom),      SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),        SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),      SCMP_SYS(lseek),
	SCMP_SYS(openat),        SCMP_SYS(open),
	SCMP_SYS(close),         SCMP_SYS(fstat),
	SCMP_SYS(stat),          SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),    SCMP_SYS(statx),
	SCMP_SYS(access),        SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),    SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),     SCMP_SYS(ftruncate),
	SCMP_SYS(flock),         SCMP_SYS(fcntl),
	SCMP_SYS(fchmod),        SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),       SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),      SCMP_SYS(rename),
	SCMP_SYS(renameat),      SCMP_SYS(renameat2),
	SCMP_SYS(getdents64),    SCMP_SYS(umask),
	SCMP_SYS(geteuid),       SCMP_SYS(getuid),
	SCMP_SYS(getegid),       SCMP_SYS(getgid),
	SCMP_SYS(getpid),        SCMP_SYS(gettid),
	SCMP_SYS(mmap),          SCMP_SYS(munmap),
	SCMP_SYS(mremap),        SCMP_SYS(mprotect),
	SCMP_SYS(madvise),       SCMP_SYS(brk),
	SCMP_SYS(futex),         SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(rt_sigaction),  SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),  SCMP_SYS(sigaltstack),
	SCMP_SYS(sched_yield),   SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),          SCMP_SYS(exit_group),
};

int vault_confine(const struct phx_vault_config *config, struct phx_err *err)
{
	const struct phx_confine_path paths[] = {
		{config->pki_dir, PHX_CONFINE_READ | PHX_CONFINE_WRITE},
		{config->key_dir, PHX_CONFINE_READ | PHX_CONFINE_WRITE}};
	const struct phx_confine confine = {.what = "the vault",
					    .user = config->user,
					    .give = give,
					    .arg = config,
					    .lock_memory = true,
					    .paths = paths,
					    .n_paths = PHX_ARRAY_SIZE(paths),
					    .calls = calls,
					    .n_calls = PHX_ARRAY_SIZE(calls)};
	return phx_confine_self(&confine, err);
}
