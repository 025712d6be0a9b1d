/* Shows nodes: each as text, written from its record, with the members that the caller of the API
 * may see and has asked for. Called by the requests that read, under the engine's lock and for many
 * nodes at once. Reads only. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phxd/site.h"
#include "phxd/view.h"
#include "phxd/view_hide.h"

/* Members by which a machine is known: somebody who knows them can claim to be the machine, or look
 * for it. Who holds the node sees them. */
static const char *const hardware[] = {
	"macs",
	"ip",
	"address",
	"serial",
	"uuid",
	"proven_uuid",
	"system_disk",
	"facts.serial",
	"facts.uuid",
	"facts.disks.id",
	"facts.disks.wwn",
	"facts.disks.serial",
	"facts.disks.path",
	"facts.nics.mac",
	"facts.nics.neighbor",
	"facts.nics.neighbor_port",
	"facts.modules.serial",
	"known_disks.id",
	"known_disks.serial",
	"known_disks.path",
	"known_disks.left",
	"layout.volumes.disks",
	"layout.parts.disk",
	"tpms.key",
	"tpms.pcrs",
	"plan.steps.disk",
	"checks.disk",
	"plan.left.id",
	"notes",
};

/* How the machine is reached below its system, and what keys and steps are known by: the resource
 * provider alone sees them. */
static const char *const heads_own[] = {
	"key_fp",           "bmc", "facts.bmc_address", "disk_key_id", "plan.steps.key_id",
	"plan.steps.nonce",
};

/* What is in its role and its image: users read their names. */
static const char *const software[] = {
	"system_image", "system_digest",   "system_version",     "system_kernel",
	"layout",       "actual_identity", "kernel_word",        "facts.os",
	"facts.kernel", "plan.layout",     "plan.from_identity",
};

/* Members with sentences that may name disks, addresses and versions, and tell what services
 * wrote. */
static const char *const sentences[] = {
	"reason",  "gave_up", "plan",        "health_text", "unfit_for",
	"monitor", "site",    "soft_failed", "turn",        "checks",
};

/* ---- members that are not in the record ---- */

static void put_bool(struct phx_buf *b, bool value)
{
	phx_buf_addf(b, value ? "true" : "false");
}

static void expected_identity(const struct phx_state *s, const struct phx_node *n,
			      char ret[VIEW_IDENTITY_MAX])
{
	struct phx_role store;
	const struct phx_role *role = n->role[0]
		? phx_state_role_in(s, phx_state_role(s, n->role), n->pool, &store)
		: NULL;
	ret[0] = '\0';
	if (role)
		phx_role_identity(role, ret, VIEW_IDENTITY_MAX);
}

static void put_expected(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
			 struct phx_buf *b)
{
	char expected[VIEW_IDENTITY_MAX];
	(void)d;
	expected_identity(s, n, expected);
	phx_json_put_text(b, expected);
}

static void put_drift(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		      struct phx_buf *b)
{
	char expected[VIEW_IDENTITY_MAX];
	bool settled = n->state == PHX_NODE_ACTIVE && n->up;
	(void)d;
	if (settled)
		expected_identity(s, n, expected);
	put_bool(b,
		 settled &&
			 (strcmp(n->actual_role, n->role) || strcmp(n->actual_identity, expected)));
}

static void put_by_mac_alone(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
			     struct phx_buf *b)
{
	(void)d;
	(void)s;
	put_bool(b, phx_node_by_mac_alone(n));
}

/* The monitor says nothing of who is logged in: only a person who orders something is told that
 * (ends.c). */
static void put_monitor(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
			struct phx_buf *b)
{
	(void)s;
	live_put_monitor(d->live, n->name, b);
}

/* "": nothing to say: no settings, no bundle for this node now, or an agent that knows of none. */
static void put_site(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		     struct phx_buf *b)
{
	char error[BEAT_ERROR_MAX], text[BEAT_ERROR_MAX + 16] = "";
	enum site_standing is = site_standing(d, s, n, error);
	if (is == SITE_APPLYING)
		PHX_STR_SET(text, "applying");
	else if (is == SITE_WAITING)
		PHX_STR_SET(text, "waits for its turn");
	else if (is != SITE_NONE)
		snprintf(text, sizeof(text), "%s%s", error[0] ? "failed: " : "up to date", error);
	phx_json_put_text(b, text);
}

/* How far the order has come whose turn the node waits for. */
static void put_turn(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		     struct phx_buf *b)
{
	const struct phx_line *line = n->line_waits ? phx_state_line(s, n->line) : NULL;
	(void)d;
	if (!line) {
		phx_buf_addf(b, "null");
		return;
	}
	phx_buf_addf(b, "{\"done\":%u,\"of\":%u,\"most\":%u,\"stopped\":", line->done,
		     line->nodes.n, line->most);
	phx_json_put_text(b, line->stopped);
	phx_buf_addf(b, "}");
}

/* "": not heard since phxd started, or an agent that does not tell. */
static void put_agent_version(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
			      struct phx_buf *b)
{
	char version[PHX_TOLD_VERSION_MAX];
	(void)s;
	live_version(d->live, n->name, version);
	phx_json_put_text(b, version);
}

static const struct {
	const char *name;
	void (*put)(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		    struct phx_buf *b);
	unsigned hidden; /* from who may not see that */
} extras[] = {
	{"expected", put_expected, VIEW_HIDE_SOFTWARE},
	{"drift", put_drift, 0},
	{"by_mac_alone", put_by_mac_alone, VIEW_HIDE_HARDWARE},
	{"monitor", put_monitor, 0},
	{"site", put_site, 0},
	{"turn", put_turn, 0},
	{"agent_version", put_agent_version, VIEW_HIDE_SOFTWARE},
};
_Static_assert(PHX_ARRAY_SIZE(extras) == VIEW_EXTRAS, "one flag each");

/* ---- which members ---- */

/* The member's place among those of the record and, behind them, the extras; -ENOENT. */
static int find_member(const char *name, size_t n)
{
	for (size_t i = 0; i < phx_node_record.n_fields; i++)
		if (strlen(phx_node_record.fields[i].name) == n &&
		    !memcmp(phx_node_record.fields[i].name, name, n))
			return (int)i;
	for (size_t i = 0; i < VIEW_EXTRAS; i++)
		if (strlen(extras[i].name) == n && !memcmp(extras[i].name, name, n))
			return (int)(phx_node_record.n_fields + i);
	return -ENOENT;
}

static int pick_members(const char *list, struct view_members *ret, struct phx_err *err)
{
	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		int i = find_member(at, n);
		if (i < 0)
			return phx_err_set(err, -EINVAL, "fields: a node has no member '%.*s'",
					   (int)n, at);
		ret->shown[i] = true;
		at += n;
	}
	return 0;
}

static int leave_out(struct view_members *of, const char *const *names, size_t n)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = phx_json_less_add(&of->less, &phx_node_record, names[i]);
	return r;
}

int view_members(const char *list, const struct view_scopes *scopes, struct view_members *ret,
		 struct phx_err *err)
{
	unsigned hides = (scopes->hardware == PHX_SCOPE_NONE ? VIEW_HIDE_HARDWARE : 0) |
		(scopes->logs == PHX_SCOPE_NONE ? VIEW_HIDE_SAID : 0) |
		(scopes->catalog == PHX_SCOPE_NONE ? VIEW_HIDE_SOFTWARE : 0);
	*ret = (struct view_members){0};
	size_t n_all = phx_node_record.n_fields + VIEW_EXTRAS;
	if (n_all > PHX_ARRAY_SIZE(ret->shown))
		return phx_err_set(err, -E2BIG, "a node has more members than are counted on");
	int r = list ? pick_members(list, ret, err) : 0;
	for (size_t i = 0; !list && i < n_all; i++)
		ret->shown[i] = true;
	/* somebody who sees the digest could try tokens on it */
	r = r ? r : phx_json_less_add(&ret->less, &phx_node_record, "token_sha256");
	if (r == 0 && scopes->hardware != PHX_SCOPE_ALL)
		r = leave_out(ret, heads_own, PHX_ARRAY_SIZE(heads_own));
	if (r == 0 && (hides & VIEW_HIDE_HARDWARE))
		r = leave_out(ret, hardware, PHX_ARRAY_SIZE(hardware));
	if (r == 0 && (hides & VIEW_HIDE_SOFTWARE))
		r = leave_out(ret, software, PHX_ARRAY_SIZE(software));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sentences); i++)
		ret->hides[find_member(sentences[i], strlen(sentences[i]))] = hides;
	for (size_t i = 0; i < VIEW_EXTRAS; i++)
		ret->shown[phx_node_record.n_fields + i] &= !(extras[i].hidden & hides);
	return r;
}

/* Is the value at `at`, which has just been written, one that phx_json_less.empty leaves out? */
static bool says_nothing(const struct phx_buf *b, size_t at)
{
	static const char *const nothing[] = {"false", "null", "\"\""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(nothing); i++)
		if (b->n - at == strlen(nothing[i]) && !memcmp(b->data + at, nothing[i], b->n - at))
			return true;
	return false;
}

/* In what was written at `from`. */
static void cut_out(struct phx_buf *b, size_t from, unsigned what)
{
	if (what && !b->failed && b->n > from)
		b->n = from + view_hide(b->data + from, what, true);
}

/* What a node did before stays in its plan, which most of a long list would be made of. */
static bool is_over(const struct phx_field *f, const struct phx_node *n)
{
	return f->offset == offsetof(struct phx_node, plan) && n->plan.cursor >= n->plan.steps.n;
}

void view_node_put(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		   const struct view_members *m, struct phx_buf *b)
{
	phx_buf_add(b, "{", 1);
	for (size_t i = 0; i < phx_node_record.n_fields; i++) {
		const struct phx_field *f = &phx_node_record.fields[i];
		size_t before = b->n;
		if (m->shown[i] && !(m->less.empty && is_over(f, n)))
			phx_json_put_field(b, f, n, &m->less);
		cut_out(b, before, m->hides[i]);
	}
	for (size_t i = 0; i < VIEW_EXTRAS; i++) {
		if (!m->shown[phx_node_record.n_fields + i])
			continue;
		size_t before = b->n;
		phx_json_put_member(b, extras[i].name);
		size_t value = b->n;
		extras[i].put(d, s, n, b);
		cut_out(b, value, m->hides[phx_node_record.n_fields + i]);
		if (m->less.empty && says_nothing(b, value))
			b->n = before;
	}
	phx_buf_add(b, "}", 1);
}
