/* Services as others see them: whether they run, their CPU time, their
 * output. Called by the link, by steps and by logs.c; changes no service. */
#include "agent/service_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void name_slot(const struct slot *slot, struct service_id *ret)
{
	*ret = (struct service_id){.pid = slot->proc.pid};
	PHX_STR_SET(ret->name, slot->svc->name);
	PHX_STR_SET(ret->log_from, slot->log_from);
	PHX_STR_SET(ret->invocation, slot->proc.invocation);
}

/* Called with the loop held. Keeps the services of the last role while none runs: people ask why it
 * ended. */
static void publish_ids(struct services *s)
{
	s->any = s->n;
	if (s->n)
		s->ids.n = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		struct service_id *id = phx_list_push(&s->ids, sizeof(*id));
		if (!id)
			return;
		name_slot(&s->slots[i], id);
	}
}

void services_publish_names(struct services *s)
{
	LOOP_HELD(s->loop);
	publish_ids(s);
}

static bool is_dead(const struct slot *slot)
{
	return slot->state == SLOT_DOWN || slot->state == SLOT_FAILED;
}

void services_publish(struct services *s)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (uint32_t i = 0; i < s->n; i++)
		if (is_dead(&s->slots[i]))
			phx_buf_addf(&b, "%s%s (status %d%s%s)",
				     b.n ? ", " : "not running: ", s->slots[i].svc->name,
				     s->slots[i].status, s->slots[i].said[0] ? ": " : "",
				     s->slots[i].said);
	LOOP_HELD(s->loop);
	s->ok = b.n == 0;
	snprintf(s->text, sizeof(s->text), "%s", b.data ? b.data : "");
	phx_utf8_repair(s->text);
	publish_ids(s);
}

bool services_ok(struct services *s, char *ret_text, size_t ret_size)
{
	LOOP_HELD(s->loop);
	bool ok = s->ok;
	snprintf(ret_text, ret_size, "%s", s->text);
	phx_utf8_repair(ret_text); /* the copy may be cut within a character */
	return ok;
}

/* A copy of the services that run, or ran last; NULL with n 0: there are none. */
static struct service_id *copy_ids(struct services *s, uint32_t *ret_n)
{
	loop_hold(s->loop);
	uint32_t n = s->ids.n;
	struct service_id *ids = n ? calloc(n, sizeof(*ids)) : NULL;
	if (ids)
		memcpy(ids, s->ids.items, n * sizeof(*ids));
	loop_release(s->loop);
	*ret_n = ids ? n : 0;
	return ids;
}

int services_used(struct services *s, uint64_t *ret_us, struct phx_err *err)
{
	uint32_t n;
	PHX_AUTO_FREE struct service_id *ids = copy_ids(s, &n);
	loop_hold(s->loop);
	bool any = s->any;
	loop_release(s->loop);
	if (!any || !n)
		return phx_err_set(err, -ENODATA, "no services run");
	return s->backend->used(s->self, ids, n, ret_us, err);
}

/* ---- their output ---- */

/* Replaces characters by which a service could control a terminal or break JSON. */
static void clean(struct phx_buf *b)
{
	for (size_t i = 0; i < b->n; i++) {
		unsigned char c = (unsigned char)b->data[i];
		if ((c < 0x20 && c != '\n') || c == 0x7f)
			b->data[i] = c == '\r' || c == '\t' ? ' ' : '?';
	}
	if (b->n)
		phx_utf8_repair(b->data);
}

enum { SAID_LINES = 3, SYSTEMD_LINES = 8 };

/* The line without the name of its unit, which the reason names anyway. */
static const char *without_unit(const char *line)
{
	static const char end[] = ".service: ";
	const char *at = phx_str_starts(line, "phx-") ? strstr(line, end) : NULL;
	return at ? at + strlen(end) : line;
}

/* Is the line one that systemd writes for every failed unit, without a reason? */
static bool says_nothing(const char *line)
{
	static const char *const begins[] = {
		"Starting ",        "Started ", "Failed with result ",
		"Failed to start ", "Stopped ", "Scheduled restart job"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(begins); i++)
		if (phx_str_starts(line, begins[i]))
			return true;
	return false;
}

void service_reason(struct phx_buf *text, bool of_systemd, char *ret, size_t size)
{
	const char *parts[SAID_LINES];
	size_t n = 0, room = size - 1;
	ret[0] = '\0';
	for (char *end; n < SAID_LINES && text->n; text->n = (size_t)(end - text->data)) {
		text->data[text->n] = '\0';
		end = strrchr(text->data, '\n');
		const char *line = end ? end + 1 : text->data;
		line = without_unit(line + strspn(line, " \t"));
		if (*line && !(of_systemd && says_nothing(line)))
			parts[n++] = line;
		end = end ? end : text->data;
	}
	PHX_AUTO(phx_buf_fini) struct phx_buf all = {0};
	while (n-- > 0)
		phx_buf_addf(&all, "%s%s", all.n ? " / " : "", parts[n]);
	if (all.n > room)
		snprintf(ret, size, "...%s", all.data + (all.n - (room - 3)));
	else if (all.n)
		snprintf(ret, size, "%s", all.data);
	phx_utf8_repair(ret);
}

void slot_log_begin(struct services *s, struct slot *slot)
{
	const struct service_log_ask end = {.lines = 0};
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	slot->said[0] = slot->log_from[0] = '\0';
	s->backend->log(s->self, slot->svc->name, &end, &text, slot->log_from, NULL);
}

/* Reads the output of a service since its last start as one line. If the journal could not assign
 * lines to that start, all lines after the start's cursor count. */
static void read_said(struct services *s, const struct service_id *id, char *ret, size_t size)
{
	struct service_log_ask ask = {
		.lines = SAID_LINES, .words = true, .wait_ms = s->backend->log_lag_ms};
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	char end[SERVICE_CURSOR_MAX];
	ret[0] = '\0';
	PHX_STR_SET(ask.cursor, id->log_from);
	PHX_STR_SET(ask.invocation, id->invocation);
	int r = s->backend->log(s->self, id->name, &ask, &text, end, NULL);
	ask.wait_ms = 0;
	if (r == 0 && !text.n && ask.invocation[0]) {
		ask.invocation[0] = '\0';
		r = s->backend->log(s->self, id->name, &ask, &text, end, NULL);
	}
	ask.words = false;
	ask.lines = SYSTEMD_LINES;
	bool of_systemd = r == 0 && !text.n;
	if (of_systemd) /* the service could not even be executed: systemd says why */
		r = s->backend->log(s->self, id->name, &ask, &text, end, NULL);
	if (r < 0 || !text.n)
		return;
	clean(&text);
	service_reason(&text, of_systemd, ret, size);
}

void slot_log_end(struct services *s, struct slot *slot)
{
	struct service_id id;
	name_slot(slot, &id);
	read_said(s, &id, slot->said, sizeof(slot->said));
}

void services_said(struct services *s, char *ret_text, size_t ret_size)
{
	uint32_t n;
	PHX_AUTO_FREE struct service_id *ids = copy_ids(s, &n);
	char said[SERVICE_SAID_MAX] = "";
	ret_text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		read_said(s, &ids[i], said, sizeof(said));
		if (!said[0])
			continue;
		snprintf(ret_text, ret_size, "%s: %s", ids[i].name, said);
		return;
	}
}

/* Finds the service that `name` means. */
static int choose(const struct service_id *ids, uint32_t n, char name[PHX_NAME_MAX],
		  const struct service_id **ret, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
	for (uint32_t i = 0; i < n; i++) {
		if (phx_str_eq(ids[i].name, name) || (!name[0] && n == 1)) {
			*ret = &ids[i];
			return phx_str_copy(name, PHX_NAME_MAX, ids[i].name);
		}
		phx_buf_addf(&names, "%s%s", i ? ", " : "", ids[i].name);
	}
	if (!n)
		return phx_err_set(err, -ENOENT, "no service has run here since its agent began");
	return name[0]
		? phx_err_set(err, -ENOENT, "no service '%s' here, but: %.200s", name, names.data)
		: phx_err_set(err, -EINVAL, "which service? It has: %.200s", names.data);
}

int services_log(struct services *s, char name[PHX_NAME_MAX], const struct service_log_ask *ask,
		 struct phx_buf *ret_text, char *ret_cursor, struct phx_err *err)
{
	uint32_t n;
	PHX_AUTO_FREE struct service_id *ids = copy_ids(s, &n);
	const struct service_id *id = NULL;
	struct service_log_ask last = *ask;
	int r = choose(ids, n, name, &id, err);
	if (r == 0 && !ask->cursor[0]) /* a reader with a cursor gets later starts too */
		PHX_STR_SET(last.invocation, id->invocation);
	r = r ? r : s->backend->log(s->self, name, &last, ret_text, ret_cursor, err);
	if (r == 0)
		clean(ret_text);
	return r;
}

void slot_tell_end(struct services *s, const struct slot *slot)
{
	LOOP_HELD(s->loop);
	snprintf(s->last_end, sizeof(s->last_end), "%s ended with status %d%s%s", slot->svc->name,
		 slot->status, slot->said[0] ? ": " : "", slot->said);
	phx_utf8_repair(s->last_end);
}

uint32_t services_restarts(struct services *s, char *ret_why, size_t ret_size)
{
	LOOP_HELD(s->loop);
	uint32_t n = s->restarts;
	snprintf(ret_why, ret_size, "%s", n ? s->last_end : "");
	return n;
}

void services_monitor(struct services *s, json_t *monitor)
{
	char why[SERVICE_TEXT_MAX];
	uint32_t n = services_restarts(s, why, sizeof(why));
	if (!n)
		return;
	json_object_set_new(monitor, "restarts", json_integer(n));
	json_object_set_new(monitor, "last_end", json_string(why));
}
