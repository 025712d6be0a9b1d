/* What a node says of the steps that it was ordered, as the head judges it: the first byte chooses
 * a check, one of a machine that is off, or an erase; each line is an answer. Whoever was root on
 * the node made them up. What is refused has a text, and changes nothing; what is of another step,
 * another attempt or another disk than the one ordered counts for nothing; and the journal has it
 * as it was.
 * Parsers: lib/node/result.c lib/types/check.c */
#include <errno.h>

#include "base/json.h"
#include "core/core.h"
#include "fuzz/fuzz.h"
#include "node/order.h"

#define DISK "serial-disk1"

static struct phx_state state;
static int64_t now_ms;

static int apply(struct phx_event *ev, struct phx_outcome *out, struct phx_err *err)
{
	struct phx_err why = {0};
	ev->now_ms = now_ms += 1000;
	ev->random = (uint64_t)now_ms | 1;
	int r = phx_core_apply(&state, ev, out, err);
	fuzz_never(phx_state_check(&state, &why) < 0);
	return r;
}

static void do_it(struct phx_event *ev)
{
	struct phx_outcome out = {0};
	fuzz_never(apply(ev, &out, NULL) < 0);
	phx_outcome_fini(&out);
	phx_event_fini(ev);
}

/* ---- a node that is ordered something ---- */

static void add_mac(struct phx_list *macs)
{
	struct phx_mac *m = phx_list_push(macs, sizeof(*m));
	PHX_STR_SET(m->mac, "52:54:00:00:00:01");
}

static void add_node(void)
{
	struct phx_event add = {.kind = PHX_EV_node_add, .node = "n1"},
			 enrol = {.kind = PHX_EV_enrol},
			 hello = {.kind = PHX_EV_hello,
				  .node = "n1",
				  .hello = {.env = PHX_ENV_DEPLOY,
					    .boot_id = "b1",
					    .echoes = true,
					    .protects = true,
					    .checker = true}};
	struct phx_disk_facts *d = phx_list_push(&hello.hello.facts.disks, sizeof(*d));
	struct phx_nic_facts *nic = phx_list_push(&hello.hello.facts.nics, sizeof(*nic));
	add_mac(&add.node_add.macs);
	add_mac(&enrol.enrol.macs);
	PHX_STR_SET(add.node_add.bmc.driver, "ipmi");
	PHX_STR_SET(enrol.enrol.key_fp, "key-n1");
	PHX_STR_SET(enrol.enrol.serial, "serial-1");
	PHX_STR_SET(d->id, DISK);
	PHX_STR_SET(nic->mac, "52:54:00:00:00:01");
	d->size_bytes = 4ULL << 30;
	d->can_discard = true;
	hello.hello.facts.cpus = 2;
	hello.hello.facts.memory_bytes = 1ULL << 30;
	do_it(&add);
	do_it(&enrol);
	do_it(&hello);
}

/* c: a check, b: one of a node that is off, else an erase. */
static void begin(char what)
{
	struct phx_event missing = {.kind = PHX_EV_missing, .node = "n1"};
	struct phx_event check = {.kind = PHX_EV_check, .node = "n1", .order.for_s = 600},
			 wipe = {.kind = PHX_EV_wipe, .node = "n1"};
	fuzz_never(phx_state_init(&state) < 0);
	now_ms = 1000000;
	state.incarnation = 1;
	state.last_step_id = 1 << 16;
	state.settings.looks = state.settings.attests = state.settings.measures = true;
	state.settings.protects = state.settings.doubts_claims = true;
	add_node();
	if (what == 'b')
		do_it(&missing);
	do_it(what == 'c' || what == 'b' ? &check : &wipe);
}

/* ---- what comes of an answer ---- */

static char *node_text(void)
{
	return phx_json_record_text(&phx_node_record, phx_state_node(&state, "n1"));
}

/* The journal gives it back as it was. */
static void check_journal(const struct phx_event *ev)
{
	struct phx_event again = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&phx_event_record, ev);
	fuzz_never(!text || phx_json_text_to_record(&phx_event_record, text, &again, NULL) < 0);
	fuzz_never(!phx_record_equal(&phx_event_record, ev, &again));
	phx_event_fini(&again);
}

/* 1 and @ stand for what was ordered, so that an answer can be the right one. */
static void complete(struct phx_event *ev)
{
	const struct phx_node *n = phx_state_node(&state, "n1");
	const struct phx_step *step = phx_node_step(n);
	struct phx_event_answer *p = &ev->answer;
	PHX_STR_SET(ev->node, "n1");
	if (!step)
		return;
	p->step_id = p->step_id == 1 ? step->id : p->step_id;
	p->epoch = p->epoch == 1 ? n->plan.epoch : p->epoch;
	p->nonce = p->nonce == 1 ? step->nonce : p->nonce;
	if (!strcmp(p->erased_disk, "@"))
		PHX_STR_SET(p->erased_disk, step->disk);
	if (!strcmp(p->check.disk, "@"))
		PHX_STR_SET(p->check.disk, step->disk);
}

static const struct phx_action *erased(const struct phx_outcome *out)
{
	PHX_LIST_EACH(const struct phx_action, a, &out->actions)
		if (a->kind == PHX_ACT_ERASED)
			return a;
	return NULL;
}

/* An erase counts that was ordered, of that disk, in that attempt, and that was read back, signed
 * by a key of this site in an image of this head. */
static void check_erase(const struct phx_step *was, const struct phx_event_answer *p,
			const struct phx_action *a)
{
	if (!a)
		return;
	fuzz_never(was->kind != PHX_STEP_wipe || p->result < 0 || p->step_id != was->id);
	fuzz_never(strcmp(p->erased_disk, was->disk) || strcmp(a->disk, was->disk));
	fuzz_never(p->nonce != was->nonce || p->setup.method != was->method);
	fuzz_never(!p->verified_bytes || !p->read_sha256[0] || p->erased_bytes < 4ULL << 30);
	fuzz_never(!p->signature[0] || !p->signer[0] || !p->image[0]);
}

static const struct phx_check *check_of(enum phx_check_part part, const char *disk)
{
	PHX_LIST_EACH(const struct phx_check, c, &phx_state_node(&state, "n1")->checks)
		if (c->part == (int)part && !strcmp(c->disk, disk))
			return c;
	return NULL;
}

/* A part is passed by an answer that says so of that part, that disk, for that time. */
static void check_check(const struct phx_step *was, const struct phx_event_answer *p)
{
	enum phx_check_part part;
	const struct phx_node *n = phx_state_node(&state, "n1");
	if (!phx_step_checks(was->kind, &part))
		return;
	const struct phx_check *c = check_of(part, was->disk);
	bool said = p->result >= 0 && p->has_check && p->check.part == (int)part &&
		!strcmp(p->check.disk, was->disk) && (!p->check.writes || was->writes) &&
		(!p->check.passed || p->check.seconds >= was->seconds);
	bool is = c && c->ended_ms == now_ms;
	fuzz_never(is != said || (said && c->passed != p->check.passed));
	fuzz_never(said && !c->passed &&
		   (n->state != PHX_NODE_MAINTENANCE || !strstr(n->reason, "its check failed")));
}

/* Of the node, of its BMC, of the keys, of a director. */
static bool is_answer(int kind)
{
	return kind == PHX_EV_step_result || kind == PHX_EV_power_result ||
		kind == PHX_EV_key_result || kind == PHX_EV_balanced;
}

/* False: the node is ordered nothing more. */
static bool answer(const char *text)
{
	struct phx_event ev = {0};
	struct phx_outcome out = {0};
	struct phx_err err = {0};
	const struct phx_step *step = phx_node_step(phx_state_node(&state, "n1"));
	if (!step || phx_json_text_to_record(&phx_event_record, text, &ev, NULL) < 0)
		return step;
	if (!is_answer(ev.kind)) {
		phx_event_fini(&ev);
		return true;
	}
	struct phx_step was = *step;
	uint64_t epoch = phx_state_node(&state, "n1")->plan.epoch;
	PHX_AUTO_FREE char *before = node_text();
	complete(&ev);
	check_journal(&ev);
	int r = apply(&ev, &out, &err);
	PHX_AUTO_FREE char *after = node_text();
	fuzz_never(r > 0 || (r < 0 && (!err.text[0] || strcmp(before, after))));
	if (r == 0 && ev.kind == PHX_EV_step_result) {
		fuzz_never(ev.answer.step_id != was.id || ev.answer.epoch != epoch);
		check_erase(&was, &ev.answer, erased(&out));
		check_check(&was, &ev.answer);
	}
	fuzz_never(r < 0 && out.actions.n);
	phx_outcome_fini(&out);
	phx_event_fini(&ev);
	return true;
}

/* What a snapshot has of it is read as it was. */
static void check_snapshot(void)
{
	struct phx_node again = {.name = ""};
	PHX_AUTO_FREE char *text = node_text();
	fuzz_never(phx_json_text_to_record(&phx_node_record, text, &again, NULL) < 0 ||
		   !phx_record_equal(&phx_node_record, phx_state_node(&state, "n1"), &again));
	phx_record_fini(&phx_node_record, &again);
}

/* "cpu,disk", as an order of a check names parts. */
static void parse_parts(const char *text)
{
	uint32_t parts = 0;
	struct phx_err err = {0};
	int r = phx_check_parts_parse(text, &parts, &err);
	fuzz_never(r == 0 ? !parts || parts >> PHX_CHECK_PARTS_N : !err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 1, n - 1);
	if (data[0] == 'p') {
		parse_parts(text);
		return 0;
	}
	begin((char)data[0]);
	for (char *line = text, *next; *line; line = next) {
		next = fuzz_line(line);
		if (!answer(line))
			break;
	}
	check_snapshot();
	phx_state_fini(&state);
	return 0;
}
