/* Answers the head's questions: see launch.h, and launch.def for the questions. Started by
 * launcher.c. An attacker who has taken over the head can ask these and no more, so all arguments
 * are checked here. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "apart/apart.h"
#include "base/clock.h"
#include "base/file.h"
#include "door/door.h"
#include "phxd/consoles.h"
#include "phxd/daemon.h"
#include "phxd/head_user.h"
#include "phxd/helper.h"
#include "phxd/launcher.h"
#include "phxd/outlets.h"
#include "phxd/planner.h"
#include "phxd/runner.h"
#include "phxd/watcher.h"

static int add_child(struct launcher *l, const char *name, struct phx_argv *argv,
		     struct phx_err *err)
{
	/* root's directory: in run_dir itself the head may write */
	PHX_AUTO_FREE char *dir = phx_path("%s/boot", l->cfg->run_dir);
	PHX_AUTO_FREE char *pid = phx_path("%s/boot/%s.pid", l->cfg->run_dir, name);
	PHX_AUTO_FREE char *log = phx_path("%s/boot/%s.log", l->cfg->run_dir, name);
	struct phx_child_spec spec = {.name = name,
				      .argv = (const char *const *)argv->v,
				      .pid_file = pid,
				      .log_file = log};
	int r = dir && pid && log ? phx_dir_make(dir, 0755, err) : -ENOMEM;
	r = r ? r : phx_children_add(l->children, &spec, err);
	phx_argv_fini(argv);
	return r == -EEXIST ? 0 : r; /* a former head has started it */
}

static int start_dnsmasq(struct launcher *l, uint32_t n_nodes, struct phx_err *err)
{
	struct phx_argv argv = {0};
	struct phx_dhcp_site site;
	if (l->cfg->dhcp_mode == PHX_DHCP_NONE && l->cfg->tftp != PHX_TFTP_DNSMASQ)
		return 0;
	int r = phx_dnsmasq_write(l->cfg, launcher_site(l, &site), n_nodes, err);
	r = r < 0 ? r : phx_dnsmasq_argv(l->cfg, &argv);
	return r < 0 ? r : add_child(l, "dnsmasq", &argv, err);
}

static int start_tftpd(struct launcher *l, struct phx_err *err)
{
	struct phx_argv argv = {0};
	if (l->cfg->tftp == PHX_TFTP_NONE)
		return 0;
	int r = phx_tftp_prepare(l->cfg, err);
	if (r < 0 || l->cfg->tftp != PHX_TFTP_INTFTPD)
		return r;
	if (access(l->cfg->in_tftpd, X_OK) < 0)
		return phx_err_set(err, -errno, "%s: %s", l->cfg->in_tftpd, strerror(errno));
	r = phx_tftpd_argv(l->cfg, &argv);
	return r < 0 ? r : add_child(l, "in.tftpd", &argv, err);
}

enum { END_MS = 2000 };

/* ---- its processes and sockets ---- */

void launcher_collect(struct phx_process *p)
{
	if (p->pidfd < 0)
		return;
	if (phx_process_wait(p->pidfd, END_MS) < 0)
		phx_process_signal(p->pidfd, SIGKILL);
	phx_process_status(p->pidfd);
	phx_close_fd(&p->pidfd);
}

static int op_vault(struct launcher *l, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_vault_config config = keys_config(l->cfg);
	(void)q;
	launcher_collect(&l->vault); /* the head no longer uses the former one */
	int r = phx_vault_spawn(&config, &l->vault, &ret->fd, err);
	if (r == 0)
		ret->number = (uint64_t)l->vault.pid;
	return r;
}

static int op_hands(struct launcher *l, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_hands_config config = hands_config(l->cfg);
	(void)q;
	launcher_collect(&l->hands);
	int r = phx_hands_spawn(&config, &l->hands, &ret->fd, err);
	if (r == 0)
		ret->number = (uint64_t)l->hands.pid;
	return r;
}

static int op_consoles(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_consoles_config config = consoles_config(l->cfg);
	(void)q;
	if (!l->cfg->consoles)
		return phx_err_set(err, -EPERM, "consoles is off");
	launcher_collect(&l->consoles);
	int r = phx_consoles_spawn(&config, &l->consoles, &ret->fd, err);
	if (r == 0)
		ret->number = (uint64_t)l->consoles.pid;
	return r;
}

static int open_listener(struct launcher *l, enum phx_http_listener which, struct phx_err *err)
{
	const struct phx_http_server_config config = launch_listeners(l->cfg);
	int fd = phx_http_listen(&config, which, err);
	if (fd < 0)
		return fd;
	/* open to all, as users submit jobs through it: rights follow from peer credentials */
	if (which == PHX_HTTP_UNIX && chmod(l->cfg->socket, 0666) < 0) {
		int r = phx_err_set(err, -errno, "%s: %s", l->cfg->socket, strerror(errno));
		close(fd);
		return r;
	}
	l->listening[which] = fd;
	return 0;
}

/* The head has the journal open, so no other phxd runs, and it has not written yet. */
static int op_sweep(struct launcher *l, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)q;
	(void)ret;
	if (l->ready)
		return phx_err_set(err, -EPERM, "phxd serves already");
	begin_sweep(l->cfg);
	catalog_sweep(l->cfg);
	return 0;
}

static int op_listen(struct launcher *l, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	if (q->number >= PHX_HTTP_LISTENERS)
		return -EINVAL;
	int r = l->listening[q->number] ? 0
					: open_listener(l, (enum phx_http_listener)q->number, err);
	if (r < 0)
		return r;
	ret->fd = fcntl(l->listening[q->number], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return ret->fd < 0 ? -errno : 0;
}

static uint32_t nodes_of(const struct phx_apart_question *q)
{
	return q->number < UINT32_MAX ? (uint32_t)q->number : UINT32_MAX;
}

static int op_boot(struct launcher *l, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)ret;
	int r = l->children ? 0 : phx_children_new(NULL, NULL, &l->children, err);
	r = r ? r : start_tftpd(l, err);
	return r ? r : start_dnsmasq(l, nodes_of(q), err);
}

static int op_hosts(struct launcher *l, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)ret;
	return l->cfg->dhcp_mode == PHX_DHCP_SERVE
		? launcher_refresh(l, nodes_of(q), q->op == LAUNCH_hosts_again, err)
		: 0;
}

static int op_children(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	(void)q;
	(void)err;
	int r = l->children ? phx_children_status(l->children, &list) : 0;
	PHX_LIST_EACH(struct phx_child_status, s, &list)
		phx_buf_add(&ret->body, s, sizeof(*s));
	return r;
}

/* The head may not read in that directory. */
static int op_boot_log(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	static const char *const names[] = {
		[LAUNCH_LOG_DHCP] = "dnsmasq", [LAUNCH_LOG_TFTP] = "in.tftpd"};
	if (q->number >= PHX_ARRAY_SIZE(names))
		return -EINVAL;
	PHX_AUTO_FREE char *log = phx_path("%s/boot/%s.log", l->cfg->run_dir, names[q->number]);
	if (!log)
		return -ENOMEM;
	ret->fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return ret->fd < 0 ? phx_err_set(err, -errno, "%s: %s", log, strerror(errno)) : 0;
}

static int op_say(struct launcher *l, const struct phx_apart_question *q,
		  struct phx_apart_reply *ret, struct phx_err *err)
{
	static const char *const words[] = {[LAUNCH_READY] = "READY=1\nSTATUS=serving",
					    [LAUNCH_RELOADING] = "RELOADING=1",
					    [LAUNCH_STOPPING] = "STOPPING=1",
					    [LAUNCH_ALIVE] = "WATCHDOG=1"};
	(void)ret;
	(void)err;
	if (q->number >= PHX_ARRAY_SIZE(words))
		return -EINVAL;
	l->ready = l->ready || q->number == LAUNCH_READY;
	sd_notify(0, words[q->number]);
	return 0;
}

/* Only a line that is an anchor may go into an administrator's file. */
static int op_anchor(struct launcher *l, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_list *files = &l->cfg->anchor_file;
	char line[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor anchor;
	(void)ret;
	if (q->number >= files->n || !q->n || phx_str_copy(line, sizeof(line), q->body) < 0)
		return -EINVAL;
	int r = phx_anchor_parse(line, &anchor, err);
	if (r < 0)
		return r;
	phx_anchor_format(&anchor, line);
	return phx_anchor_append(PHX_LIST_AT(files, struct phx_word, q->number)->text, line, 0,
				 err);
}

static int op_clock(struct launcher *l, const struct phx_apart_question *q,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)l;
	(void)q;
	(void)err;
	ret->number = clock_is_kept();
	return 0;
}

static int op_runner(struct launcher *l, const struct phx_apart_question *q,
		     struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)q;
	return runner_spawn(l->cfg, &ret->fd, err);
}

static int op_programs(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)q;
	return outlet_spawn(l->cfg, OUTLET_PROGRAMS, &ret->fd, err);
}

static int op_webhooks(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)q;
	return outlet_spawn(l->cfg, OUTLET_WEBHOOKS, &ret->fd, err);
}

/* An unused place, or that of a process that has ended. Kills one that hangs in a PAM module when
 * nobody waits for it any more. */
static struct phx_process *free_door(struct launcher *l)
{
	int64_t now = phx_clock_ms();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(l->doors); i++) {
		struct phx_process *p = &l->doors[i];
		if (p->pid && now - l->doors_ms[i] >= PHX_DOOR_ANSWER_MS)
			phx_process_signal(p->pidfd, SIGKILL);
		else if (p->pid && phx_process_wait(p->pidfd, 0) < 0)
			continue;
		if (p->pid)
			launcher_collect(p);
		*p = (struct phx_process){.pidfd = -1};
		l->doors_ms[i] = now;
		return p;
	}
	return NULL;
}

static int op_door(struct launcher *l, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_process *p = free_door(l);
	(void)q;
	if (!l->cfg->portal_pam)
		return phx_err_set(err, -EPERM, "portal_pam is off");
	if (!p)
		return phx_err_set(err, -EBUSY, "%d others are signing in just now",
				   LAUNCH_DOORS_MAX);
	return phx_door_spawn(p, &ret->fd, err);
}

void launcher_end_planner(struct launcher *l)
{
	if (l->planner.pidfd >= 0)
		phx_process_signal(l->planner.pidfd, SIGKILL);
	phx_close_fd(&l->planner.pidfd);
}

/* One at a time, whatever the head asks for. It ends with its socket, so its end is collected by
 * another than who kills it. */
static int op_planner(struct launcher *l, const struct phx_apart_question *q,
		      struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_process p;
	(void)q;
	launcher_end_planner(l);
	int r = planner_spawn(&p, &ret->fd, err);
	if (r < 0)
		return r;
	l->planner = p;
	l->planner.pidfd = fcntl(p.pidfd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	phx_apart_collect_later(&p);
	return 0;
}

/* ---- data of REs ---- */

/* Reads the name of an RE, which is also that of a directory. */
static int name_in(const struct phx_apart_question *q, char ret[PHX_NAME_MAX], struct phx_err *err)
{
	if (phx_str_copy(ret, PHX_NAME_MAX, q->n ? q->body : "") < 0 || !phx_name_valid(ret))
		return phx_err_set(err, -EINVAL, "that is no name of an RE");
	return 0;
}

static int marker_in(const struct re_marker *m, struct phx_err *err)
{
	bool whole = memchr(m->name, 0, sizeof(m->name)) && memchr(m->site, 0, sizeof(m->site));
	return whole && phx_name_valid(m->name) && !strpbrk(m->site, " \n")
		? 0
		: phx_err_set(err, -EINVAL, "that is no marker of an RE");
}

static int op_re_look(struct launcher *l, const struct phx_apart_question *q,
		      struct phx_apart_reply *ret, struct phx_err *err)
{
	struct launch_re re = {0};
	char name[PHX_NAME_MAX];
	int r = name_in(q, name, err);
	if (r < 0)
		return r;
	re.there = re_place_look(l->cfg, name, &re.marked, &re.marker);
	re_owners_look(l->cfg, name, &re.owners);
	phx_buf_add(&ret->body, &re, sizeof(re));
	return 0;
}

static int op_re_list(struct launcher *l, const struct phx_apart_question *q,
		      struct phx_apart_reply *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	(void)q;
	(void)err;
	re_place_list(l->cfg, &list);
	PHX_LIST_EACH(struct re_marker, m, &list)
		phx_buf_add(&ret->body, m, sizeof(*m));
	return 0;
}

static int op_re_make(struct launcher *l, const struct phx_apart_question *q,
		      struct phx_apart_reply *ret, struct phx_err *err)
{
	struct launch_re_make m;
	(void)ret;
	if (q->n != sizeof(m))
		return -EPROTO;
	memcpy(&m, q->body, sizeof(m));
	if (!memchr(m.login, 0, sizeof(m.login)))
		return -EPROTO;
	int r = marker_in(&m.marker, err);
	return r ? r : re_place_make(l->cfg, &m.marker, m.login, err);
}

static int op_re_remove(struct launcher *l, const struct phx_apart_question *q,
			struct phx_apart_reply *ret, struct phx_err *err)
{
	char name[PHX_NAME_MAX];
	(void)ret;
	int r = name_in(q, name, err);
	return r ? r : re_place_remove(l->cfg, name, err);
}

static int op_re_set_aside(struct launcher *l, const struct phx_apart_question *q,
			   struct phx_apart_reply *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *to = NULL;
	struct re_marker m;
	if (q->n != sizeof(m))
		return -EPROTO;
	memcpy(&m, q->body, sizeof(m));
	int r = marker_in(&m, err);
	r = r ? r : re_place_set_aside(l->cfg, &m, &to, err);
	if (r == 0 && to)
		phx_buf_add(&ret->body, to, strlen(to));
	return r;
}

/* Opens the directory that is asked for. */
static int open_place(struct launcher *l, const struct phx_apart_question *q, struct stat *ret,
		      struct phx_err *err)
{
	struct re_place_whose w;
	if (q->n != sizeof(w))
		return -EPROTO;
	memcpy(&w, q->body, sizeof(w));
	if (!memchr(w.re, 0, sizeof(w.re)) || !memchr(w.user, 0, sizeof(w.user)))
		return -EPROTO;
	return re_place_open(l->cfg, &w, ret, err);
}

static int op_re_open(struct launcher *l, const struct phx_apart_question *q,
		      struct phx_apart_reply *ret, struct phx_err *err)
{
	struct stat st;
	uid_t uid;
	gid_t gid;
	PHX_AUTO_CLOSE int dir = open_place(l, q, &st, err);
	if (dir < 0)
		return dir;
	head_user_find(l->cfg, &uid, &gid);
	struct launch_re_opened opened = {
		.uid = st.st_uid, .gid = st.st_gid, .helper = st.st_uid != uid};
	int r = 0;
	if (opened.helper) {
		r = head_user_refuse(l->cfg, st.st_uid, err);
		r = r ? r : helper_spawn(dir, st.st_uid, st.st_gid, &ret->fd, err);
	} else {
		ret->fd = dir;
		dir = -1;
	}
	phx_buf_add(&ret->body, &opened, sizeof(opened));
	return r;
}

/* A directory of the head's own user is watched as that user, by a process that can read only that
 * directory. */
static int op_re_watch(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	struct stat st;
	uid_t uid;
	gid_t gid;
	PHX_AUTO_CLOSE int dir = open_place(l, q, &st, err);
	if (dir < 0)
		return dir;
	head_user_find(l->cfg, &uid, &gid);
	int r = st.st_uid != uid ? head_user_refuse(l->cfg, st.st_uid, err) : 0;
	return r ? r : watcher_spawn(dir, st.st_uid, st.st_gid, &ret->fd, err);
}

static int op_re_users(struct launcher *l, const struct phx_apart_question *q,
		       struct phx_apart_reply *ret, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list list = {0};
	char name[PHX_NAME_MAX];
	int r = name_in(q, name, err);
	if (r == 0)
		re_place_users(l->cfg, name, &list);
	PHX_LIST_EACH(struct phx_word, w, &list)
		phx_buf_add(&ret->body, w, sizeof(*w));
	return r;
}

/* ---- any question ---- */

static const struct {
	int (*fn)(struct launcher *l, const struct phx_apart_question *q,
		  struct phx_apart_reply *ret, struct phx_err *err);
	bool alone;
} ops[] = {
#define OP(name, function, is_alone) [LAUNCH_##name] = {.fn = function, .alone = is_alone},
#include "phxd/launch.def"
#undef OP
};

int launcher_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		    struct phx_err *err)
{
	struct launcher *l = arg;
	if (q->op >= PHX_ARRAY_SIZE(ops))
		return -ENOSYS;
	if (!ops[q->op].alone)
		return ops[q->op].fn(l, q, ret, err);
	pthread_mutex_lock(&l->lock);
	int r = ops[q->op].fn(l, q, ret, err);
	pthread_mutex_unlock(&l->lock);
	return r;
}

struct hearing {
	struct launcher *l;
	int fd;
};

/* A head that sends anything but a question is not ours any more: it is killed. */
static void *hear(void *arg)
{
	struct hearing *h = arg;
	struct launcher *l = h->l;
	int r = phx_apart_serve(h->fd, &l->server);
	pthread_mutex_lock(&l->lock);
	if (r != -EPIPE && l->head.pidfd >= 0)
		phx_process_signal(l->head.pidfd, SIGKILL);
	pthread_mutex_unlock(&l->lock);
	close(h->fd);
	free(h);
	return NULL;
}

int launcher_hear(struct launcher *l, int fd, struct phx_err *err)
{
	pthread_t thread;
	struct hearing *h = malloc(sizeof(*h));
	int r = h ? 0 : -ENOMEM;
	if (h) {
		*h = (struct hearing){l, fd};
		r = -pthread_create(&thread, NULL, hear, h);
	}
	if (r < 0) {
		close(fd);
		free(h);
		return phx_err_set(err, r, "no thread that answers the head: %s", strerror(-r));
	}
	pthread_detach(thread);
	return 0;
}
