/* What is written for an event: see row.h. Called by journal.c; writes nothing itself. */
#include "journal/row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/key.h"
#include "journal/erasure.h"

void phx_journal_row_fini(struct phx_store_row *row)
{
	free((char *)row->event.event);
	free((char *)row->event.actions);
	free((char *)row->erasure.record);
	free((char *)row->erasure.signature);
	free((char *)row->attestation.text);
	phx_list_fini(&row->about);
}

/* Makes the signed record of the erase among the actions, if there is one. */
static int make_erasure(const struct phx_journal_config *config, const struct phx_state *s,
			const struct phx_event *ev, const struct phx_list *actions,
			struct phx_store_erasure *ret, struct phx_err *err)
{
	char signature[PHX_JOURNAL_SIGNATURE_MAX] = "";
	PHX_LIST_EACH(struct phx_action, act, actions) {
		if (act->kind != PHX_ACT_ERASED)
			continue;
		PHX_AUTO_JSON json_t *record = phx_erasure_json(s, ev, act);
		*ret = (struct phx_store_erasure){act->step_id, act->node,
						  record ? phx_json_text(record) : NULL, NULL};
		int r = !ret->record   ? -ENOMEM
			: config->sign ? config->sign(config->arg, ret->record, signature, err)
				       : 0;
		ret->signature = strdup(signature);
		return r < 0 || ret->signature ? r : -ENOMEM;
	}
	return 0;
}

/* Makes the attestation that one of the actions asks for, if any. A transaction has at most one
 * event for a node, so the node's last attestation is in the store. */
static int make_attestation(const struct phx_journal_config *config, const struct phx_state *s,
			    const struct phx_event *ev, const struct phx_list *actions,
			    struct phx_store_row *row, struct phx_err *err)
{
	PHX_LIST_EACH(struct phx_action, act, actions)
		if (act->kind == PHX_ACT_ATTEST)
			return phx_attest_make(&config->attester, &config->store, s, ev, act,
					       &row->erasure, &row->attestation, err);
	return 0;
}

static int push_about(const char *prefix, const char *name, struct phx_list *ret)
{
	struct phx_word *to = phx_list_push(ret, sizeof(*to));
	return to &&
			snprintf(to->text, sizeof(to->text), "%s%s", prefix, name) <
				(int)sizeof(to->text)
		? 0
		: -ENOMEM;
}

/* Adds who caused the event, if that is a person: most events are caused by phxd and agents. */
static int add_by(const struct phx_event *ev, struct phx_list *ret)
{
	bool person = strchr(ev->by, ':') && !phx_str_starts(ev->by, "node:");
	return person ? push_about(PHX_STORE_BY, ev->by, ret) : 0;
}

/* Adds whom the event is about beside its node: nodes and REs of its notes. */
static int add_about(const struct phx_list *actions, const char *node, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_action, act, actions) {
		const char *const names[] = {act->node, act->re, act->other_re};
		for (size_t i = 0; act->kind == PHX_ACT_NOTE && i < PHX_ARRAY_SIZE(names); i++) {
			bool news = names[i][0] && strcmp(names[i], node) != 0;
			if (news && push_about("", names[i], ret) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int phx_journal_row(const struct phx_journal_config *config, const struct phx_state *s,
		    const struct phx_event *ev, const struct phx_each *e, struct phx_store_row *ret,
		    struct phx_err *err)
{
	struct phx_event told = *ev; /* borrows */
	told.random = e->out.drew ? ev->random : 0;
	if (ev->kind == PHX_EV_job_submit)
		/* for people: the core numbers the job again at a replay */
		told.job_submit.job = e->out.job;
	ret->event =
		(struct phx_store_event){e->seq,
					 ev->now_ms,
					 phx_enum_name(&phx_event_kind_names, ev->kind),
					 e->node[0] ? e->node : e->out.node,
					 phx_json_record_text_sparse(&phx_event_record, &told),
					 phx_json_list_text(&phx_action_record, &e->out.actions)};
	if (!ret->event.event || !ret->event.actions || add_by(ev, &ret->about) < 0 ||
	    add_about(&e->out.actions, ret->event.node, &ret->about) < 0)
		return -ENOMEM;
	int r = make_erasure(config, s, ev, &e->out.actions, &ret->erasure, err);
	return r < 0 ? r : make_attestation(config, s, ev, &e->out.actions, ret, err);
}
