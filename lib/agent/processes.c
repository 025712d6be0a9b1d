/* See processes.h. The option is the file system's, so it holds for each place where this /proc is
 * mounted; services that have a /proc of their own (ProtectProc=) keep theirs. The group that sees
 * all stays what it is, root's unless the image says another: systemd-logind, which has no right to
 * look into processes of others, is in that. */
#include "agent/processes.h"

#include <errno.h>
#include <linux/magic.h>
#include <mntent.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "base/file.h"

enum { LINE_MAX_BYTES = 4096 };

/* Does that mount hide as much, or more (only what may be traced is seen)? */
static bool hides(const char *path)
{
	static const char *const enough[] = {"2", "invisible", "4", "ptraceable"};
	char line[LINE_MAX_BYTES];
	struct mntent m;
	bool is = false;
	FILE *f = setmntent("/proc/self/mounts", "re");
	while (f && getmntent_r(f, &m, line, sizeof(line))) {
		const char *at = strcmp(m.mnt_dir, path) ? NULL : hasmntopt(&m, "hidepid");
		const char *value = at ? strchr(at, '=') : NULL;
		size_t n = value ? strcspn(++value, ",") : 0;
		/* of several mounts at one place the last one is seen */
		is = strcmp(m.mnt_dir, path) ? is : false;
		for (size_t i = 0; i < PHX_ARRAY_SIZE(enough); i++)
			is = is || (n == strlen(enough[i]) && !strncmp(value, enough[i], n));
	}
	if (f)
		endmntent(f);
	return is;
}

int processes_hide(const struct agent_config *cfg, bool people, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/proc", cfg->root);
	struct statfs type;
	struct statvfs is;
	if (!people || !agent_config_private(cfg))
		return 0;
	if (!path)
		return -ENOMEM;
	if (statfs(path, &type) < 0 || type.f_type != PROC_SUPER_MAGIC || hides(path))
		return 0;
	if (statvfs(path, &is) < 0)
		return phx_err_set(err, -errno, "%s: %s", path, strerror(errno));
	/* these have the numbers of mount(2); without them it would be open to more */
	unsigned long flags = is.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC);
	return mount(NULL, path, NULL, MS_REMOUNT | flags, "hidepid=2") < 0
		? phx_err_set(err, -errno, "%s cannot hide processes of others: %s", path,
			      strerror(errno))
		: 0;
}
