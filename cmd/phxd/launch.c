/* See launch.h: the head's side. Called by main.c, and by any thread that needs something that only
 * the launcher may do. */
#include "phxd/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apart/apart.h"
#include "base/file.h"
#include "deploy/child.h"

struct phx_http_server_config launch_listeners(const struct phx_config *cfg)
{
	return (struct phx_http_server_config){
		.unix_path = cfg->socket,
		.unix_gid = (gid_t)-1,
		.tls_address = phx_config_listen(cfg),
		.tls_port = (uint16_t)cfg->https_port,
		.plain_address = phx_config_listen(cfg),
		.plain_port = (uint16_t)cfg->http_port,
	};
}

struct launch {
	struct phx_apart *apart;
};

/* Moves the socket away from standard input, so that no child inherits it and nothing reads it by
 * mistake. */
static int take_socket(int fd, int *ret)
{
	PHX_AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return *ret < 0 || null < 0 || dup2(null, fd) < 0 ? -errno : 0;
}

int launch_new(int fd, struct launch **ret, struct phx_err *err)
{
	int domain = 0;
	socklen_t n = sizeof(domain);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 || domain != AF_UNIX)
		return phx_err_set(err, -ENOTSOCK, "--head is for phxd itself, which starts it so");
	const struct phx_apart_config config = {.what = "phxd's launcher",
						.answer_ms = LAUNCH_ANSWER_MS,
						.body_max = LAUNCH_BODY_MAX};
	int own, r = take_socket(fd, &own);
	struct launch *l = r == 0 ? calloc(1, sizeof(*l)) : NULL;
	r = r ? r : l ? phx_apart_take(&config, own, &l->apart) : -ENOMEM;
	if (r < 0)
		free(l);
	else
		*ret = l;
	return r;
}

void launch_free(struct launch *l)
{
	if (!l)
		return;
	phx_apart_end(l->apart);
	free(l);
}

static int ask(struct launch *l, enum launch_op op, uint64_t number, struct phx_apart_reply *ret,
	       struct phx_err *err)
{
	const struct phx_apart_question q = {.op = op, .number = number};
	return phx_apart_ask(l->apart, &q, 0, ret, err);
}

static int ask_with(struct launch *l, enum launch_op op, const void *body, size_t n,
		    struct phx_apart_reply *ret, struct phx_err *err)
{
	const struct phx_apart_question q = {.op = op, .body = body, .n = (uint32_t)n};
	return phx_apart_ask(l->apart, &q, 0, ret, err);
}

/* Copies the items of an answer, each of `size` bytes, into a list. */
static int take_row(const struct phx_buf *b, size_t size, struct phx_list *ret)
{
	struct phx_list list = {0};
	for (size_t at = 0; at + size <= b->n; at += size) {
		void *to = phx_list_push(&list, size);
		if (!to) {
			phx_list_fini(&list);
			return -ENOMEM;
		}
		memcpy(to, b->data + at, size);
	}
	*ret = list;
	return 0;
}

static int ask_plain(struct launch *l, enum launch_op op, uint64_t number, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask(l, op, number, &reply, err);
}

static int ask_fd(struct launch *l, enum launch_op op, uint64_t number, int *ret_fd, pid_t *ret_pid,
		  struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(l, op, number, &reply, err);
	if (r < 0 || !reply.fd)
		return r < 0 ? r : phx_err_set(err, -EPROTO, "phxd's launcher gave no descriptor");
	*ret_fd = reply.fd;
	*ret_pid = (pid_t)reply.number;
	reply.fd = 0;
	return 0;
}

int launch_vault(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err)
{
	return ask_fd(launch, LAUNCH_vault, 0, ret_fd, ret_pid, err);
}

int launch_hands(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err)
{
	return ask_fd(launch, LAUNCH_hands, 0, ret_fd, ret_pid, err);
}

int launch_consoles(void *launch, int *ret_fd, pid_t *ret_pid, struct phx_err *err)
{
	return ask_fd(launch, LAUNCH_consoles, 0, ret_fd, ret_pid, err);
}

int launch_listen(struct launch *l, enum phx_http_listener which, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_listen, which, ret_fd, &none, err);
}

int launch_boot_log(struct launch *l, enum launch_log which, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_boot_log, which, ret_fd, &none, err);
}

int launch_runner(struct launch *l, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_runner, 0, ret_fd, &none, err);
}

int launch_programs(struct launch *l, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_programs, 0, ret_fd, &none, err);
}

int launch_webhooks(struct launch *l, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_webhooks, 0, ret_fd, &none, err);
}

int launch_door(struct launch *l, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_door, 0, ret_fd, &none, err);
}

int launch_planner(struct launch *l, int *ret_fd, struct phx_err *err)
{
	pid_t none;
	return ask_fd(l, LAUNCH_planner, 0, ret_fd, &none, err);
}

int launch_sweep(struct launch *l, struct phx_err *err)
{
	return ask_plain(l, LAUNCH_sweep, 0, err);
}

int launch_boot(struct launch *l, uint32_t n_nodes, struct phx_err *err)
{
	return ask_plain(l, LAUNCH_boot, n_nodes, err);
}

static void put_network(const struct phx_site_network *n, struct launch_network *ret)
{
	*ret = (struct launch_network){.mtu = n->mtu, .boot = n->boot, .relay = n->relay};
	PHX_STR_SET(ret->name, n->name);
	PHX_STR_SET(ret->subnet, n->subnet);
	PHX_STR_SET(ret->gateway, n->gateway);
	PHX_STR_SET(ret->domain, n->domain);
	PHX_STR_SET(ret->first, n->range.first);
	PHX_STR_SET(ret->last, n->range.last);
	PHX_STR_SET(ret->interface, n->interface);
	PHX_STR_SET(ret->head, n->head);
	PHX_LIST_EACH(struct phx_word, w, &n->dns)
		if (ret->n_dns < PHX_ARRAY_SIZE(ret->dns) &&
		    PHX_STR_SET(ret->dns[ret->n_dns], w->text) == 0)
			ret->n_dns++;
}

static void put_site(const struct phx_site *site, struct phx_buf *b)
{
	struct launch_names names = {.serve_names = site->serve_names,
				     .forward_dns = site->forward_dns};
	PHX_STR_SET(names.domain, site->domain);
	phx_buf_add(b, &names, sizeof(names));
	PHX_LIST_EACH(struct phx_site_network, n, &site->networks) {
		struct launch_network row;
		put_network(n, &row);
		phx_buf_add(b, &row, sizeof(row));
	}
}

static int tell_networks(struct launch *l, enum launch_op op, const struct phx_site *site,
			 uint32_t n_nodes, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_site(site, &b);
	const struct phx_apart_question q = {
		.op = op, .number = n_nodes, .body = b.data, .n = (uint32_t)b.n};
	return b.failed ? -ENOMEM : phx_apart_ask(l->apart, &q, 0, &reply, err);
}

int launch_networks_try(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
			struct phx_err *err)
{
	return tell_networks(l, LAUNCH_networks_try, site, n_nodes, err);
}

int launch_networks(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
		    struct phx_err *err)
{
	return tell_networks(l, LAUNCH_networks, site, n_nodes, err);
}

int launch_hosts(struct launch *l, uint32_t n_nodes, bool again, struct phx_err *err)
{
	return ask_plain(l, again ? LAUNCH_hosts_again : LAUNCH_hosts, n_nodes, err);
}

int launch_children(struct launch *l, struct phx_list *ret)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(l, LAUNCH_children, 0, &reply, NULL);
	return r ? r : take_row(&reply.body, sizeof(struct phx_child_status), ret);
}

void launch_say(struct launch *l, enum launch_saying what)
{
	ask_plain(l, LAUNCH_say, what, NULL);
}

int launch_anchor(struct launch *l, uint32_t which, const char *line, struct phx_err *err)
{
	const struct phx_apart_question q = {
		.op = LAUNCH_anchor, .number = which, .body = line, .n = (uint32_t)strlen(line)};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return phx_apart_ask(l->apart, &q, 0, &reply, err);
}

bool launch_clock_is_kept(struct launch *l)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask(l, LAUNCH_clock, 0, &reply, NULL) == 0 && reply.number == 1;
}

/* ---- data of REs ---- */

int launch_re_look(struct launch *l, const char *re, struct launch_re *ret, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask_with(l, LAUNCH_re_look, re, strlen(re), &reply, err);
	if (r == 0 && reply.body.n != sizeof(*ret))
		r = -EPROTO;
	if (r == 0)
		memcpy(ret, reply.body.data, sizeof(*ret));
	return r;
}

int launch_re_list(struct launch *l, struct phx_list *ret)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask(l, LAUNCH_re_list, 0, &reply, NULL);
	return r ? r : take_row(&reply.body, sizeof(struct re_marker), ret);
}

int launch_re_make(struct launch *l, const struct re_marker *m, const char *login,
		   struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	struct launch_re_make body = {.marker = *m};
	/* none would leave the directory to the head's user */
	if (PHX_STR_SET(body.login, login) < 0)
		return phx_err_set(err, -EINVAL,
				   "RE %s: the login '%.40s...' is too long: it may have %d bytes",
				   m->name, login, PHX_NAME_MAX - 1);
	return ask_with(l, LAUNCH_re_make, &body, sizeof(body), &reply, err);
}

int launch_re_remove(struct launch *l, const char *re, struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	return ask_with(l, LAUNCH_re_remove, re, strlen(re), &reply, err);
}

int launch_re_set_aside(struct launch *l, const struct re_marker *m, char **ret_to,
			struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask_with(l, LAUNCH_re_set_aside, m, sizeof(*m), &reply, err);
	if (r == 0)
		*ret_to = reply.body.n ? strndup(reply.body.data, reply.body.n) : NULL;
	return r == 0 && reply.body.n && !*ret_to ? -ENOMEM : r;
}

int launch_re_open(struct launch *l, const struct re_place_whose *w, struct launch_re_opened *ret,
		   struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask_with(l, LAUNCH_re_open, w, sizeof(*w), &reply, err);
	if (r == 0 && (reply.body.n != sizeof(*ret) || !reply.fd))
		r = phx_err_set(err, -EPROTO, "phxd's launcher opened no directory");
	if (r < 0)
		return r;
	memcpy(ret, reply.body.data, sizeof(*ret));
	ret->fd = reply.fd;
	reply.fd = 0;
	return 0;
}

int launch_re_watch(struct launch *l, const struct re_place_whose *w, int *ret_fd,
		    struct phx_err *err)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask_with(l, LAUNCH_re_watch, w, sizeof(*w), &reply, err);
	if (r == 0 && !reply.fd)
		r = phx_err_set(err, -EPROTO, "phxd's launcher started no watcher");
	if (r < 0)
		return r;
	*ret_fd = reply.fd;
	reply.fd = 0;
	return 0;
}

int launch_re_users(struct launch *l, const char *re, struct phx_list *ret)
{
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	int r = ask_with(l, LAUNCH_re_users, re, strlen(re), &reply, NULL);
	return r ? r : take_row(&reply.body, sizeof(struct phx_word), ret);
}
