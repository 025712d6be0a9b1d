/* What the parts of phxd see of a node, put into rows of its start: see starts.h. Called by the
 * files that see it. Decides nothing. */
#include "phxd/starts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "state/known.h"

enum {
	LOSS_SEGMENTS = 50, /* of fewer nothing follows */
	LOSS_SHARE = 10     /* as many percent sent again are no accident */
};

static void tell(struct daemon *d, const char *node, enum phx_start_kind kind, uint64_t bytes,
		 const char *text)
{
	struct phx_start_row row = {.kind = (int)kind, .proven = true, .bytes = bytes};
	PHX_STR_SET(row.node, node);
	phx_start_clean(row.text, sizeof(row.text), text);
	starts_tell(d->starts, &row);
}

static uint64_t errno_of(int64_t result)
{
	return result < 0 ? (uint64_t)-result : 0;
}

/* ---- boot script and files: who asks has an address alone ---- */

/* A node has its reserved address when it boots: who asks in its name from another is somebody
 * else, or may be. */
static bool is_from_it(struct daemon *d, const char *mac, const char *address)
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_known_next(s, PHX_KNOWN_MAC, mac, 0);
	bool its = !n || !n->ip[0] || !strcmp(n->ip, address);
	engine_unlock(d->engine);
	return its;
}

void starts_script(struct daemon *d, const struct phx_http_request *q, const char *mac,
		   const char *what, const char *refused)
{
	const char *address = phx_http_peer(q)->address;
	/* an agent asks for the token of its start anew: the machine runs */
	if (phx_http_peer(q)->via != PHX_HTTP_PLAIN)
		return;
	if (!is_from_it(d, mac, address)) {
		struct phx_start_row row = {.kind = PHX_START_script_asked};
		PHX_STR_SET(row.node, mac);
		snprintf(row.text, sizeof(row.text), "by %s from %s, which is not its address", mac,
			 address);
		starts_tell(d->starts, &row);
		return;
	}
	starts_at(d->starts, address, mac);
	starts_say(d->starts, mac, PHX_START_script_asked, "by %s from %s", mac, address);
	tell(d, mac, refused ? PHX_START_script_refused : PHX_START_script_answered, 0,
	     refused ? refused : what);
}

/* Of an image or the site's files: what else is sent is of no start. */
static bool is_of_start(const char *path)
{
	return phx_str_starts(path, "/images/") || phx_str_starts(path, "/site.cpio") ||
		phx_str_starts(path, "/ipxe/");
}

/* False: nothing that counts was lost. */
static bool loss_of(const struct phx_http_sent *sent, const char *node, struct phx_start_row *ret)
{
	if (sent->segments < LOSS_SEGMENTS || sent->again * 100 / sent->segments < LOSS_SHARE)
		return false;
	*ret = (struct phx_start_row){.kind = PHX_START_loss, .proven = true};
	PHX_STR_SET(ret->node, node);
	snprintf(ret->text, sizeof(ret->text), "%u of %u packets had to be sent again", sent->again,
		 sent->segments);
	return true;
}

/* Before it has a certificate it has an address alone. */
static const char *receiver_of(const struct phx_http_sent *sent)
{
	const struct phx_http_peer *peer = sent->peer;
	bool known = peer->via != PHX_HTTP_PLAIN && peer->has_cert;
	return known ? peer->cert.name : peer->address;
}

void starts_sent(void *arg, const struct phx_http_sent *sent)
{
	struct daemon *d = arg;
	const char *node = receiver_of(sent);
	struct phx_start_row lost,
		row = {.kind = sent->whole ? PHX_START_file_sent : PHX_START_file_cut,
		       .proven = true,
		       .bytes = sent->bytes,
		       .total = sent->total};
	if (!is_of_start(sent->path))
		return;
	PHX_STR_SET(row.node, node);
	phx_start_clean(row.text, sizeof(row.text), sent->path + 1);
	starts_tell(d->starts, &row);
	if (loss_of(sent, node, &lost))
		starts_tell(d->starts, &lost);
	/* the last that the boot script wants */
	if (sent->peer->via == PHX_HTTP_PLAIN && sent->whole && !strcmp(sent->path, "/site.cpio"))
		tell(d, node, PHX_START_files_whole, 0, "kernel and initrd");
}

struct looked_at {
	struct daemon *d;
	const char *node;
	struct phx_list macs; /* struct phx_mac */
};

static void on_sending(void *arg, const struct phx_http_sent *sent)
{
	const struct looked_at *look = arg;
	const char *to = receiver_of(sent);
	struct phx_start_row row;
	if (!is_of_start(sent->path) ||
	    (strcmp(to, look->node) != 0 && !starts_is_at(look->d->starts, to, &look->macs)))
		return;
	if (loss_of(sent, to, &row))
		starts_tell_seldom(look->d->starts, &row);
}

static void add_mac(struct phx_list *macs, const char *text)
{
	struct phx_mac *mac = phx_list_push(macs, sizeof(*mac));
	if (mac)
		PHX_STR_SET(mac->mac, text);
}

void starts_look(struct daemon *d, const char *node)
{
	struct looked_at look = {.d = d, .node = node};
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	if (n)
		PHX_LIST_EACH(const struct phx_mac, mac, &n->macs)
			add_mac(&look.macs, mac->mac);
	else
		add_mac(&look.macs, node);
	engine_unlock(d->engine);
	phx_http_server_sending(d->http, on_sending, &look);
	phx_list_fini(&look.macs);
}

void starts_no_file(struct daemon *d, const struct phx_http_request *q, const char *why)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	starts_say(d->starts, peer->has_cert ? peer->cert.name : peer->address,
		   PHX_START_file_refused, "%.120s: %.240s", phx_http_path(q), why);
}

/* ---- certificates ---- */

void starts_no_cert(struct daemon *d, const struct phx_http_request *q, const char *why)
{
	const struct phx_http_peer *peer = phx_http_peer(q);
	if (peer->has_cert && peer->cert.kind == PHX_CERT_NODE)
		starts_say(d->starts, peer->cert.name, PHX_START_tls_refused, "from %s: %s",
			   peer->address, why);
}

/* Who made itself a certificate is not here: the site's CA has signed this one, and who shows it
 * has its key. One of a former key says nothing of the node, whose name others may have now. */
void starts_undated(void *arg, const struct phx_http_peer *peer, const char *why)
{
	struct daemon *d = arg;
	struct phx_start_row row = {.kind = PHX_START_tls_refused, .proven = true};
	if (peer->cert.kind != PHX_CERT_NODE)
		return;
	const struct phx_state *s = engine_lock(d->engine);
	bool its = phx_core_key_holds(s, peer->cert.name, peer->cert.fingerprint);
	engine_unlock(d->engine);
	if (!its)
		return;
	PHX_STR_SET(row.node, peer->cert.name);
	snprintf(row.text, sizeof(row.text), "from %s: %s, by the head's clock", peer->address,
		 why);
	starts_tell_seldom(d->starts, &row);
}

/* ---- steps ---- */

/* The name of the step, and which attempt it is; 0: it is the node's no more. */
static uint32_t find_step(struct daemon *d, const char *node, uint64_t step_id,
			  char ret_name[PHX_NAME_MAX])
{
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, node);
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	uint32_t attempt = 0;
	if (step && (!step_id || step->id == step_id)) {
		phx_str_copy(ret_name, PHX_NAME_MAX,
			     phx_enum_name(&phx_step_kind_names, step->kind));
		attempt = step->attempt ? step->attempt : 1;
	}
	engine_unlock(d->engine);
	return attempt;
}

void starts_step(struct daemon *d, const char *node, uint64_t step_id, int64_t result,
		 const char *text)
{
	char name[PHX_NAME_MAX] = "", line[PHX_START_TEXT_MAX];
	if (!find_step(d, node, step_id, name))
		return;
	snprintf(line, sizeof(line), "%s: %.300s", name,
		 text[0]              ? text
			 : result < 0 ? strerror((int)-result)
				      : "done");
	tell(d, node, result < 0 ? PHX_START_step_failed : PHX_START_step_ended, errno_of(result),
	     line);
}

void starts_step_begins(struct daemon *d, const char *node)
{
	char name[PHX_NAME_MAX] = "";
	uint32_t attempt = find_step(d, node, 0, name);
	if (attempt)
		starts_say(d->starts, node, PHX_START_step_began, "%s, attempt %u", name, attempt);
}

void starts_report(struct daemon *d, const char *node, bool healthy, const char *role,
		   const char *text)
{
	if (!role[0])
		return;
	starts_say(d->starts, node, healthy ? PHX_START_active : PHX_START_service_failed, "%s: %s",
		   role, healthy ? "healthy" : text);
}

/* ---- power ---- */

/* Does the operation start the machine? */
static bool starts_it(enum phx_power_op op)
{
	return op == PHX_POWER_ON || op == PHX_POWER_CYCLE || op == PHX_POWER_RESET ||
		op == PHX_POWER_BOOT;
}

void starts_power_asked(struct daemon *d, const char *node, enum phx_power_op op)
{
	if (starts_it(op))
		tell(d, node, PHX_START_power_asked, 0,
		     phx_enum_name(&phx_power_op_names, (int)op));
}

void starts_power(struct daemon *d, const char *node, enum phx_power_op op, int result,
		  const char *text)
{
	if (starts_it(op))
		tell(d, node, result < 0 ? PHX_START_power_failed : PHX_START_power_done,
		     errno_of(result), text);
}
