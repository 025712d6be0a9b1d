/* Tables of events, actions and orders: see event.h, order.h. Pure. */
#include "state/event.h"

#include "state/order.h"

static const char *const event_names[] = {
#define EVENT(name, text, payload, handler) #name,
#include "state/event.def"
};
const struct phx_enum phx_event_kind_names = {"event", event_names, PHX_ARRAY_SIZE(event_names)};

const char *phx_event_text(enum phx_event_kind kind)
{
	static const char *const texts[] = {
#define EVENT(name, text, payload, handler) text,
#include "state/event.def"
	};
	return (unsigned)kind < PHX_ARRAY_SIZE(texts) ? texts[kind] : "?";
}

enum phx_payload phx_event_payload(enum phx_event_kind kind)
{
	static const enum phx_payload payloads[] = {
#define EVENT(name, text, payload, handler) PHX_PAYLOAD_##payload,
#include "state/event.def"
	};
	return (unsigned)kind < PHX_ARRAY_SIZE(payloads) ? payloads[kind] : PHX_PAYLOAD_none;
}

static const char *const engine_job_states[] = {"waiting", "held",   "running",  "ending",
						"done",    "failed", "cancelled"};
const struct phx_enum phx_engine_job_state_names = {"job state", engine_job_states,
						    PHX_ARRAY_SIZE(engine_job_states)};

static const char *const engine_acts[] = {"close",    "open",   "requeue", "cancel",
					  "expedite", "refuse", "admit"};
const struct phx_enum phx_engine_act_names = {"order", engine_acts, PHX_ARRAY_SIZE(engine_acts)};

PHX_RECORD_TABLE(phx_engine_host, PHX_ENGINE_HOST_FIELDS);
PHX_RECORD_TABLE(phx_engine_job, PHX_ENGINE_JOB_FIELDS);
PHX_RECORD_TABLE(phx_index_row, PHX_INDEX_ROW_FIELDS);
PHX_RECORD_TABLE(phx_trigger_file, PHX_TRIGGER_FILE_FIELDS);
PHX_RECORD_TABLE(phx_site_failure, PHX_SITE_FAILURE_FIELDS);

#define PAYLOAD(name) PHX_RECORD_TABLE(phx_event_##name, PHX_EVENT_FIELDS_##name);
#include "state/event.def"

static const struct phx_record *const payloads[] = {
#define EVENT(name, text, payload, handler) &phx_event_##payload##_record,
#include "state/event.def"
};
static const struct phx_cases cases = {offsetof(struct phx_event, kind), payloads,
				       PHX_ARRAY_SIZE(payloads)};

static const struct phx_field phx_event_fields[] = {PHX_EVENT_HEAD_FIELDS(PHX_ROW_, phx_event)
							    PHX_ROW_CASE(phx_event, none, cases)};
const struct phx_record phx_event_record = {.size = sizeof(struct phx_event),
					    .fields = phx_event_fields,
					    .n_fields = PHX_ARRAY_SIZE(phx_event_fields)};

void phx_event_fini(struct phx_event *ev)
{
	phx_record_fini(&phx_event_record, ev);
}

static const char *const action_names[] = {"order",  "power",  "key_make", "key_destroy",
					   "erased", "attest", "dhcp",     "note"};
const struct phx_enum phx_action_kind_names = {"action", action_names,
					       PHX_ARRAY_SIZE(action_names)};

PHX_RECORD_TABLE(phx_action_power, PHX_ACTION_POWER_FIELDS);
PHX_RECORD_TABLE(phx_action_words, PHX_ACTION_WORDS_FIELDS);

static const struct phx_record *const action_parts[] = {
	[PHX_ACT_ORDER] = &phx_action_words_record,
	[PHX_ACT_POWER] = &phx_action_power_record,
	[PHX_ACT_KEY_MAKE] = &phx_action_words_record,
	[PHX_ACT_KEY_DESTROY] = &phx_action_words_record,
	[PHX_ACT_ERASED] = &phx_action_words_record,
	[PHX_ACT_ATTEST] = &phx_action_words_record,
	[PHX_ACT_DHCP] = &phx_action_words_record,
	[PHX_ACT_NOTE] = &phx_action_words_record,
};
static const struct phx_cases action_cases = {offsetof(struct phx_action, kind), action_parts,
					      PHX_ARRAY_SIZE(action_parts)};
static const struct phx_field phx_action_fields[] = {
	PHX_ACTION_FIELDS(PHX_ROW_, phx_action) PHX_ROW_CASE(phx_action, op, action_cases)};
const struct phx_record phx_action_record = {.size = sizeof(struct phx_action),
					     .fields = phx_action_fields,
					     .n_fields = PHX_ARRAY_SIZE(phx_action_fields)};

void phx_outcome_fini(struct phx_outcome *o)
{
	phx_list_fini(&o->actions);
	phx_list_fini(&o->ended);
	*o = (struct phx_outcome){0};
}

PHX_RECORD_TABLE(phx_order, PHX_ORDER_FIELDS);
