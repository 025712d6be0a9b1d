/* How a request says what BMC a node has: see parse.h. */
#include <errno.h>
#include <string.h>

#include "console/console.h"
#include "phxd/parse.h"
#include "power/power.h"

/* A user who could name any file would learn what only root may read, or have phxd run any program:
 * so only files that root has put into bmc_dir may be named. */
static int check_bmc_file(const struct daemon *d, const char *what, const char *path,
			  struct phx_err *err)
{
	size_t n = strlen(d->cfg.bmc_dir);
	const char *name = strncmp(path, d->cfg.bmc_dir, n) || path[n] != '/' ? "" : path + n + 1;
	if (!path[0] || (name[0] && name[0] != '.' && !strchr(name, '/')))
		return 0;
	return phx_err_set(err, -EPERM,
			   "%s %s: who is not root names a file of %s (bmc_dir of phoenix.conf)",
			   what, path, d->cfg.bmc_dir);
}

static int check_bmc_files(const struct daemon *d, const struct phx_http_peer *peer,
			   const struct phx_bmc *bmc, struct phx_err *err)
{
	if (peer->via == PHX_HTTP_UNIX && peer->uid == 0)
		return 0;
	int r = check_bmc_file(d, "script", bmc->script, err);
	r = r ? r : check_bmc_file(d, "console_script", bmc->console_script, err);
	return r ? r : check_bmc_file(d, "password_file", bmc->password_file, err);
}

bool parse_bmc(struct daemon *d, struct phx_http_request *q, const json_t *j, struct phx_bmc *ret)
{
	struct phx_err err = {0};
	const json_t *bmc = json_object_get(j, "bmc");
	if (!parse_record(q, j, "bmc", &phx_bmc_record, ret))
		return false;
	struct phx_bmc whole = *ret;
	PHX_STR_SET(whole.node, "its-node"); /* the core fills it in */
	if (json_object_size(bmc) && !person_require(d, q, PHX_RIGHT_bmc))
		return false;
	int r = json_object_size(bmc) && !ret->driver[0]
		? phx_err_set(&err, -EINVAL, "driver: is missing")
		: phx_power_check(&whole, &err);
	r = r ? r : phx_console_check(&whole, &err);
	r = r < 0 ? -EINVAL : check_bmc_files(d, phx_http_peer(q), ret, &err);
	if (r < 0) {
		phx_err_prefix(&err, r, "bmc");
		phx_http_reply_error(q, r, err.text);
	}
	return r == 0;
}

bool parse_bmc_change(struct daemon *d, struct phx_http_request *q, const json_t *j,
		      struct phx_event_node_bmc *p)
{
	json_t *bmc = json_object_get(j, "bmc"), *value;
	struct phx_err err = {0};
	const char *key;
	bool keep;
	if (!person_require(d, q, PHX_RIGHT_bmc) || !parse_bool(q, j, "keep", &keep))
		return false;
	if (!keep || !json_object_size(bmc))
		return parse_bmc(d, q, j, &p->bmc);
	if (!parse_record(q, j, "bmc", &phx_bmc_record, &p->bmc))
		return false;
	int r = check_bmc_files(d, phx_http_peer(q), &p->bmc, &err);
	json_object_foreach(bmc, key, value) {
		struct phx_word *w = phx_list_push(&p->only, sizeof(*w));
		r = r ? r : w ? PHX_STR_SET(w->text, key) : -ENOMEM;
	}
	if (r < 0)
		phx_http_reply_error(q, r, err.text[0] ? err.text : strerror(-r));
	return r == 0;
}
