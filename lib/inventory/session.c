/* Who is logged in: see inventory.h. From the files of systemd-logind where it
 * runs, else from utmp. A few small files, read with each beat. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utmp.h>

#include "base/file.h"
#include "base/sysfs.h"
#include "inventory/internal.h"

enum { FILE_MAX = 4096 };

PHX_RECORD_TABLE(phx_session, PHX_SESSION_FIELDS);

/* ---- systemd-logind: a file KEY=VALUE a session ---- */

/* False: no person's (a greeter, a manager of a user's units), or one that ends already. */
static bool read_logind(const char *root, const char *name, struct phx_session *ret)
{
	char text[FILE_MAX], class[32] = "", state[32] = "", since[32] = "";
	uint64_t us = 0;
	*ret = (struct phx_session){0};
	if (phx_sys_text(root, text, sizeof(text), "run/systemd/sessions/%s", name) < 0)
		return false;
	phx_line_value(text, "CLASS", '=', class, sizeof(class));
	phx_line_value(text, "STATE", '=', state, sizeof(state));
	phx_line_value(text, "USER", '=', ret->user, sizeof(ret->user));
	phx_line_value(text, "TTY", '=', ret->tty, sizeof(ret->tty));
	phx_line_value(text, "REMOTE_HOST", '=', ret->from, sizeof(ret->from));
	phx_line_value(text, "REALTIME", '=', since, sizeof(since));
	if (phx_u64_parse(since, 0, INT64_MAX, &us) == 0)
		ret->since_ms = (int64_t)(us / 1000);
	return ret->user[0] && phx_str_eq(class, "user") && !phx_str_eq(state, "closing");
}

static int add_logind(const char *root, struct phx_list *ret)
{
	PHX_AUTO_FREE char *path = phx_path("%s/run/systemd/sessions", root);
	DIR *dir = path ? opendir(path) : NULL;
	if (!dir)
		return path ? -errno : -ENOMEM;
	for (struct dirent *e; (e = readdir(dir)) && ret->n < PHX_SESSIONS_MAX;) {
		struct phx_session s, *to;
		if (e->d_name[0] == '.' || strchr(e->d_name, '.')) /* N.ref is a pipe */
			continue;
		if (read_logind(root, e->d_name, &s) && (to = phx_list_push(ret, sizeof(*to))))
			*to = s;
	}
	closedir(dir);
	return 0;
}

/* ---- utmp ---- */

static void add_utmp_row(const struct utmp *u, struct phx_list *ret)
{
	struct phx_session *s = ret->n < PHX_SESSIONS_MAX ? phx_list_push(ret, sizeof(*s)) : NULL;
	if (!s)
		return;
	snprintf(s->user, sizeof(s->user), "%.*s", (int)sizeof(u->ut_user), u->ut_user);
	snprintf(s->tty, sizeof(s->tty), "%.*s", (int)sizeof(u->ut_line), u->ut_line);
	snprintf(s->from, sizeof(s->from), "%.*s", (int)sizeof(s->from) - 1, u->ut_host);
	s->since_ms = (int64_t)u->ut_tv.tv_sec * 1000;
}

static int add_utmp(const char *root, struct phx_list *ret)
{
	struct utmp u;
	PHX_AUTO_FREE char *path = phx_path("%s/run/utmp", root);
	PHX_AUTO_CLOSE int fd =
		path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
	if (fd < 0)
		return path ? -errno : -ENOMEM;
	while (read(fd, &u, sizeof(u)) == (ssize_t)sizeof(u))
		if (u.ut_type == USER_PROCESS && u.ut_user[0])
			add_utmp_row(&u, ret);
	return 0;
}

int phx_sessions_read(const char *root, struct phx_list *ret)
{
	int r = add_logind(root, ret);
	return r < 0 ? add_utmp(root, ret) : 0;
}
