/* Beats of agents: see beat.h. Called by the API for each beat. Memory and strings only. */
#include "phxd/beat.h"

#include <errno.h>
#include <string.h>

#include "base/json_scan.h"

/* ---- members of any type: one value is passed over, whatever it is ---- */

#define TAKE_STRING(s, dst) take_string(s, dst, sizeof(dst))
static void take_string(struct phx_scan *s, char *dst, size_t size)
{
	if (phx_scan_peek(s) == '"')
		phx_scan_string(s, dst, size);
	else
		phx_scan_skip(s);
}

static int64_t take_integer(struct phx_scan *s, int64_t fallback)
{
	char c = phx_scan_peek(s);
	int64_t v;
	if (c != '-' && (c < '0' || c > '9')) {
		phx_scan_skip(s);
		return fallback;
	}
	return phx_scan_integer(s, &v) == 0 ? v : fallback;
}

static bool take_bool(struct phx_scan *s)
{
	bool yes = phx_scan_peek(s) == 't';
	return phx_scan_skip(s) == 0 && yes;
}

/* ---- what runs ---- */

static enum phx_order_kind take_kind(struct phx_scan *s)
{
	char name[32] = "";
	int kind;
	TAKE_STRING(s, name);
	int r = phx_enum_parse(&phx_order_kind_names, name, &kind, NULL);
	return r < 0 ? PHX_ORDER_NONE : (enum phx_order_kind)kind;
}

/* [ID, RUN] of a job, [KIND, ID] of another, and of an anchor the form of it that is known here:
 * [KIND, ID, FORM]. */
static void take_pair(struct phx_scan *s, struct beat_running *r)
{
	bool named = false;
	size_t i = 0;
	r->kind = PHX_ORDER_job;
	for (bool began = false; phx_scan_item(s, &began); i++)
		if (!i && phx_scan_peek(s) == '"') {
			r->kind = take_kind(s);
			named = true;
		} else if (i < 2)
			*(i && !named ? &r->run : &r->id) = take_integer(s, 0);
		else if (i == 2 && r->kind == PHX_ORDER_anchor)
			r->run = take_integer(s, 0);
		else
			phx_scan_skip(s);
}

static int take_running(struct phx_scan *s, struct phx_list *list)
{
	for (bool began = false; phx_scan_item(s, &began);) {
		struct beat_running *r = phx_list_push(list, sizeof(*r));
		if (!r)
			return -ENOMEM;
		r->kind = PHX_ORDER_step;
		if (phx_scan_peek(s) == '[')
			take_pair(s, r);
		else
			r->id = take_integer(s, 0);
	}
	return 0;
}

/* ---- the monitor ---- */

/* The value that comes next, as a text of its own. */
static int take_text(struct phx_scan *s, char **ret)
{
	phx_scan_peek(s);
	const char *from = s->at;
	if (phx_scan_skip(s) < 0)
		return 0;
	free(*ret);
	*ret = strndup(from, (size_t)(s->at - from));
	return *ret ? 0 : -ENOMEM;
}

/* Is it one of the figures? Then it is taken; one of another type, or below 0, counts as absent. */
static bool take_figure(struct phx_scan *s, const char *name, struct beat_figures *f)
{
	static const char *const names[] = {
#define F(figure) #figure,
		BEAT_FIGURES(F)
#undef F
	};
	for (int i = 0; i < BEAT_N_FIGURES; i++)
		if (name[0] == names[i][0] && !strcmp(name, names[i])) {
			int64_t v = take_integer(s, -1);
			f->of[i] = v < 0 ? -1 : v;
			return true;
		}
	return false;
}

/* One member, which is kept with the monitor unless it is for other eyes. */
static int take_measure(struct phx_scan *s, const char *name, struct beat *b, bool *ret_apart)
{
	*ret_apart = !strcmp(name, "sessions");
	if (*ret_apart && phx_scan_peek(s) == '[')
		return take_text(s, &b->sessions);
	if (!strcmp(name, "web_use_ppm"))
		b->use_ppm = take_integer(s, -1);
	else if (!strcmp(name, "web_use_error"))
		TAKE_STRING(s, b->use_error);
	else if (!strcmp(name, "site_error"))
		TAKE_STRING(s, b->site_error);
	else if (!take_figure(s, name, &b->figures))
		phx_scan_skip(s);
	b->balancer = b->balancer || !strcmp(name, "balancer");
	return 0;
}

static int take_monitor(struct phx_scan *s, struct beat *b)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf kept = {0};
	char name[PHX_SCAN_NAME_MAX];
	bool began = false, apart = false;
	phx_buf_add(&kept, "{", 1);
	for (const char *from = s->at + 1; phx_scan_member(s, &began, name); from = s->at) {
		int r = take_measure(s, name, b, &apart);
		if (r < 0)
			return r;
		from += kept.n == 1 && *from == ',';
		if (!apart)
			phx_buf_add(&kept, from, (size_t)(s->at - from));
		phx_scan_peek(s);
	}
	phx_buf_add(&kept, "}", 1);
	free(b->monitor);
	b->monitor = phx_buf_take(&kept);
	return b->monitor ? 0 : -ENOMEM;
}

/* ---- the beat ---- */

/* A member of the table, whose kinds are these four. */
static void take_field(struct phx_scan *s, const struct phx_field *f, void *at)
{
	char name[32] = "";
	if (f->type == PHX_F_STR) {
		take_string(s, at, f->size);
	} else if (f->type == PHX_F_BOOL) {
		*(bool *)at = take_bool(s);
	} else if (f->type == PHX_F_ENUM) {
		TAKE_STRING(s, name);
		if (phx_enum_parse(f->names, name, at, NULL) < 0)
			*(int *)at = 0;
	} else {
		*(int64_t *)at = take_integer(s, 0);
	}
}

static int take_member(struct phx_scan *s, const char *name, struct phx_told_beat *told,
		       struct beat *b)
{
	char c = phx_scan_peek(s);
	for (size_t i = 0; i < phx_told_beat_record.n_fields; i++) {
		const struct phx_field *f = &phx_told_beat_record.fields[i];
		if (!strcmp(name, f->name)) {
			take_field(s, f, (char *)told + f->offset);
			return 0;
		}
	}
	if (!strcmp(name, "running") && c == '[')
		return take_running(s, &b->running);
	if (!strcmp(name, "monitor") && c == '{')
		return take_monitor(s, b);
	phx_scan_skip(s);
	return 0;
}

int beat_parse(const char *text, struct beat *ret, struct phx_err *err)
{
	struct phx_scan s = phx_scan_of(text);
	char name[PHX_SCAN_NAME_MAX];
	struct phx_told_beat told = {0};
	*ret = (struct beat){.use_ppm = -1};
	beat_figures_none(&ret->figures);
	int r = phx_json_check_shape(text, strlen(text), BODY_SHAPE, err);
	for (bool began = false; r == 0 && phx_scan_member(&s, &began, name);)
		r = take_member(&s, name, &told, ret);
	if (r == 0 && !phx_scan_end(&s))
		r = phx_err_set(err, -EINVAL, "JSON, byte %zu: %s", (size_t)(s.at - s.text),
				s.want);
	PHX_MEMBERS_COPY(PHX_TOLD_REPORT_FIELDS, &ret->report, &told);
	ret->wait_ms = told.wait_ms;
	PHX_STR_SET(ret->version, told.version);
	return r;
}

void beat_fini(struct beat *b)
{
	phx_list_fini(&b->running);
	free(PHX_TAKE(b->monitor));
	free(PHX_TAKE(b->sessions));
}
