/* The socket to the kernel's balancer: see ipvs.h. Called by the agent of a
 * director. Loads no module and never decides what the table should be. */
#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <string.h>

#include <linux/ip_vs.h>

#include "ipvs/internal.h"

enum { ANSWER_S = 5 };

/* libnl's codes to errno, as far as they matter here. */
static int code_of(int nle)
{
	switch (nle < 0 ? -nle : nle) {
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_EXIST:
		return -EEXIST;
	case NLE_PERM:
		return -EPERM;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_INVAL:
		return -EINVAL;
	case NLE_AGAIN:
		return -ETIMEDOUT;
	}
	return -EIO;
}

static int fail(int nle, const char *what, struct phx_err *err)
{
	return phx_err_set(err, code_of(nle), "%s: %s", what, nl_geterror(nle));
}

void phx_ipvs_close(struct phx_ipvs *v)
{
	if (v)
		nl_socket_free(v->sock);
	free(v);
}

static int connect_kernel(struct phx_ipvs *v, struct phx_err *err)
{
	struct timeval patience = {ANSWER_S, 0};
	int r = genl_connect(v->sock);
	if (r < 0)
		return fail(r, "netlink", err);
	if (setsockopt(nl_socket_get_fd(v->sock), SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0)
		return phx_err_set(err, -errno, "netlink: %s", strerror(errno));
	v->family = genl_ctrl_resolve(v->sock, IPVS_GENL_NAME);
	if (v->family < 0)
		return phx_err_set(err, -EOPNOTSUPP,
				   "this kernel has no IPVS: ip_vs is not loaded");
	return 0;
}

int phx_ipvs_open(struct phx_ipvs **ret, struct phx_err *err)
{
	struct phx_ipvs *v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->sock = nl_socket_alloc();
	int r = v->sock ? connect_kernel(v, err) : -ENOMEM;
	if (r < 0) {
		phx_ipvs_close(v);
		return r;
	}
	*ret = v;
	return 0;
}

/* ---- reading ---- */

struct listing {
	struct phx_web_table *table;
	struct phx_web_service *service; /* whose servers are read; NULL: services are */
};

static int add_service(struct listing *l, struct nlmsghdr *h)
{
	struct phx_web_service s;
	int r = ipvs_parse_service(h, &s);
	if (r <= 0)
		return r;
	return phx_web_table_service(l->table, s.address, s.port, s.scheduler) ? 0 : -ENOMEM;
}

static int add_server(struct listing *l, struct nlmsghdr *h)
{
	struct phx_web_server s;
	int r = ipvs_parse_server(h, &s);
	r = r <= 0 ? r : phx_web_table_put(l->service, s.address, s.weight);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_web_server, v, &l->service->servers)
		if (!strcmp(v->address, s.address))
			*v = s;
	return 0;
}

static int on_item(void *arg, struct nlmsghdr *h)
{
	struct listing *l = arg;
	return l->service ? add_server(l, h) : add_service(l, h);
}

static int on_answer(struct nl_msg *m, void *arg)
{
	struct ipvs_list_calls *calls = arg;
	int r = calls->item(calls->arg, nlmsg_hdr(m));
	if (calls->r == 0 && r < 0)
		calls->r = r;
	return NL_OK;
}

int ipvs_list(struct phx_ipvs *v, struct nl_msg *m, struct ipvs_list_calls *calls,
	      struct phx_err *err)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (!cb) {
		nlmsg_free(m);
		return -ENOMEM;
	}
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_answer, calls);
	int r = nl_send_auto(v->sock, m);
	nlmsg_free(m);
	r = r < 0 ? r : nl_recvmsgs(v->sock, cb);
	nl_cb_put(cb);
	if (r < 0)
		return fail(r, "reading the balancer's table", err);
	return calls->r < 0 ? phx_err_set(err, calls->r, "reading the balancer's table: %s",
					  strerror(-calls->r))
			    : 0;
}

static int list(struct phx_ipvs *v, struct listing *l, struct phx_err *err)
{
	struct ipvs_list_calls calls = {.item = on_item, .arg = l};
	struct nl_msg *m;
	int r = ipvs_build_list(v->family, l->service, &m);
	return r < 0 ? r : ipvs_list(v, m, &calls, err);
}

int phx_ipvs_read(struct phx_ipvs *v, struct phx_web_table *ret, struct phx_err *err)
{
	struct phx_web_table t = {0};
	struct listing services = {.table = &t};
	int r = list(v, &services, err);
	PHX_LIST_EACH(struct phx_web_service, s, &t.services) {
		struct listing servers = {.table = &t, .service = s};
		r = r ? r : list(v, &servers, err);
	}
	if (r < 0)
		phx_web_table_fini(&t);
	else
		*ret = t;
	return r;
}

/* ---- changing ---- */

int ipvs_send(struct phx_ipvs *v, struct nl_msg *m)
{
	int r = nl_send_sync(v->sock, m); /* frees it */
	return r < 0 ? code_of(r) : 0;
}

/* What an earlier try has done already. */
static bool is_so(const struct phx_web_change *c, int code)
{
	bool add = c->kind == PHX_WEB_SERVICE_ADD || c->kind == PHX_WEB_SERVER_ADD;
	bool take = c->kind == PHX_WEB_SERVICE_REMOVE || c->kind == PHX_WEB_SERVER_REMOVE;
	return (add && code == -EEXIST) || (take && code == -ENOENT);
}

/* One change. What already is so is no error. */
static int apply_change(struct phx_ipvs *v, const struct phx_web_change *c, struct phx_err *err)
{
	struct nl_msg *m;
	int r = ipvs_build_change(v->family, c, &m);
	if (r < 0)
		return phx_err_set(err, r, "service %s:%u, server %s: %s", c->address, c->port,
				   c->server.address, strerror(-r));
	r = nl_send_sync(v->sock, m); /* frees it */
	if (r >= 0 || is_so(c, code_of(r)))
		return 0;
	phx_err_set(err, code_of(r), "%s %s:%u %s: %s",
		    phx_enum_name(&phx_web_change_names, c->kind), c->address, c->port,
		    c->server.address, nl_geterror(r));
	return code_of(r);
}

/* A server whose way of forwarding is to be another one cannot be edited into it. */
static int replace(struct phx_ipvs *v, const struct phx_web_change *c, struct phx_err *err)
{
	struct phx_web_change again = *c;
	again.kind = PHX_WEB_SERVER_REMOVE;
	int r = apply_change(v, &again, err);
	again.kind = PHX_WEB_SERVER_ADD;
	return r < 0 ? r : apply_change(v, &again, err);
}

static bool forwards_otherwise(const struct phx_web_table *have, const struct phx_web_change *c)
{
	PHX_LIST_EACH(struct phx_web_service, s, &have->services)
		PHX_LIST_EACH(struct phx_web_server, v, &s->servers)
			if (c->kind == PHX_WEB_SERVER_EDIT && s->port == c->port &&
			    !strcmp(s->address, c->address) &&
			    !strcmp(v->address, c->server.address))
				return v->weight == UINT32_MAX;
	return false;
}

int phx_ipvs_apply(struct phx_ipvs *v, const struct phx_web_table *want, uint32_t *ret_changes,
		   struct phx_err *err)
{
	PHX_AUTO(phx_web_table_fini) struct phx_web_table have = {0};
	PHX_AUTO(phx_list_fini) struct phx_list changes = {0};
	int r = phx_ipvs_read(v, &have, err);
	r = r ? r : phx_web_table_diff(&have, want, &changes);
	PHX_LIST_EACH(struct phx_web_change, c, &changes) {
		if (r == 0)
			r = forwards_otherwise(&have, c) ? replace(v, c, err)
							 : apply_change(v, c, err);
	}
	if (r == 0 && ret_changes)
		*ret_changes = changes.n;
	return r;
}
