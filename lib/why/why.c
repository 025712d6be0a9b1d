/* Evidence into a verdict: see why.h. Called by phxd for who asks why. Pure. */
#include "why/why.h"

#include <stdio.h>

#include "why/evidence.h"

static const char *const cause_names[] = {
#define WHY(name, ...) #name,
#include "why/why.def"
#undef WHY
};
const struct phx_enum phx_why_cause_names = {"cause", cause_names, PHX_WHY_COUNT_};

PHX_RECORD_TABLE(phx_why_verdict, PHX_WHY_VERDICT_FIELDS);

static const struct {
	enum phx_start_phase phase;
	bool wrong, proven;
	const char *text, *act;
} causes[] = {
#define WHY(name, phase, wrong, proven, text, act) {PHX_PHASE_##phase, wrong, proven, text, act},
#include "why/why.def"
#undef WHY
};

/* ---- claims ---- */

/* The value of the word "KEY=" in the text: up to a blank, or to its end if it is a text. */
static bool find_word(const char *text, const char *key, bool to_end, char *ret, size_t size)
{
	size_t n = strlen(key);
	for (const char *at = text; (at = strstr(at, key)); at += n) {
		if ((at != text && at[-1] != ' ') || at[n] != '=')
			continue;
		const char *value = at + n + 1;
		size_t length = to_end ? strlen(value) : strcspn(value, " ");
		snprintf(ret, size, "%.*s", (int)(length < size ? length : size - 1), value);
		return true;
	}
	return false;
}

static void find_number(const char *text, const char *key, int64_t *ret)
{
	char word[24];
	uint64_t value;
	if (find_word(text, key, false, word, sizeof(word)) &&
	    phx_u64_parse(word, 0, INT64_C(1) << 40, &value) == 0)
		*ret = (int64_t)value;
}

static void take_claim(struct phx_why *w, const struct phx_start_row *row)
{
	static const char panic[] = "Kernel panic";
	struct phx_why_claim *c = &w->claim;
	const char *text = row->text, *says = strstr(text, panic);
	find_word(text, "reached", false, c->reached, sizeof(c->reached));
	find_word(text, "head", false, c->head, sizeof(c->head));
	find_word(text, "nic_without", false, c->nic_without, sizeof(c->nic_without));
	find_word(text, "disk_without", false, c->disk_without, sizeof(c->disk_without));
	find_word(text, "panic", true, c->panic, sizeof(c->panic));
	if (says)
		snprintf(c->panic, sizeof(c->panic), "%.150s", says);
	find_number(text, "clock_s", &c->clock_s);
	w->claim_place = w->n;
}

/* A console has much that says nothing of the start. */
static bool is_claim(const struct phx_start_row *row)
{
	return row->kind == PHX_START_beacon ||
		(row->kind == PHX_START_console &&
		 (strstr(row->text, "Kernel panic") || strstr(row->text, "phoenix: ")));
}

/* ---- rows ---- */

void phx_why_begin(struct phx_why *w, const struct phx_why_node *node, int64_t now_us)
{
	*w = (struct phx_why){.node = *node, .now_us = now_us};
}

static void reach(struct phx_why *w, enum phx_start_phase phase, const struct phx_start_row *row)
{
	/* a machine may be switched on again, and go through one step after the other */
	bool again = phase == PHX_PHASE_power || phase == PHX_PHASE_steps;
	if (phase < w->reached || (phase == w->reached && !again))
		return;
	w->reached = phase;
	w->reached_place = w->n;
	w->reached_us = row->at_us;
}

static void take_proven(struct phx_why *w, const struct phx_start_row *row)
{
	enum phx_start_kind kind = (enum phx_start_kind)row->kind;
	w->count[kind]++;
	w->place[kind] = w->n;
	w->last[kind] = *row;
	w->network = w->network || kind == PHX_START_pxe_asked;
	w->ipxe = w->ipxe || kind == PHX_START_ipxe_asked;
	reach(w, phx_start_reached(kind), row);
	/* iPXE of the firmware, or that of TFTP */
	if (w->ipxe && w->reached == PHX_PHASE_address)
		reach(w, PHX_PHASE_loader, row);
}

void phx_why_take(struct phx_why *w, const struct phx_start_row *row)
{
	if (row->kind < 0 || row->kind >= PHX_START_KIND_COUNT_)
		return;
	w->n++;
	if (is_claim(row))
		take_claim(w, row);
	else if (row->proven)
		take_proven(w, row);
}

/* ---- the sentence ---- */

static void put(char *to, size_t size, size_t *n, const char *text)
{
	for (; *text && *n + 1 < size; text++)
		to[(*n)++] = *text;
	to[*n] = '\0';
}

static void put_number(char *to, size_t size, size_t *n, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(to, size, n, text);
}

/* Where that is not today, how many days ago it was, too. */
static void put_time(char *to, size_t size, size_t *n, int64_t us, int64_t now_us)
{
	char text[64];
	int64_t s = us / 1000000, days = now_us / 1000000 / 86400 - s / 86400;
	int w = snprintf(text, sizeof(text), "%02d:%02d:%02d UTC", (int)(s / 3600 % 24),
			 (int)(s / 60 % 60), (int)(s % 60));
	if (days > 0)
		snprintf(text + w, sizeof(text) - (size_t)w, ", %lld day%s ago", (long long)days,
			 days > 1 ? "s" : "");
	put(to, size, n, text);
}

struct words {
	const struct phx_why *w;
	const struct phx_start_row *row;
	int64_t left_us;
};

/* Puts what stands for the word; its length, or 0: it is none. */
static size_t put_word(const struct words *of, const char *at, char *to, size_t size, size_t *n)
{
	static const char *const words[] = {"@NODE@", "@TEXT@",  "@BYTES@", "@TOTAL@",
					    "@TIME@", "@SINCE@", "@LEFT@",  "@DOING@"};
	const struct phx_start_row *row = of->row;
	size_t i = 0;
	while (i < PHX_ARRAY_SIZE(words) && !phx_str_starts(at, words[i]))
		i++;
	switch (i) {
	case 0:
		put(to, size, n, of->w->node.node);
		break;
	case 1:
		put(to, size, n, row->text);
		break;
	case 2:
		put_number(to, size, n, row->bytes);
		break;
	case 3:
		put_number(to, size, n, row->total);
		break;
	case 4:
		put_time(to, size, n, row->at_us, of->w->now_us);
		break;
	case 5:
		put_time(to, size, n, of->w->reached_us, of->w->now_us);
		break;
	case 6:
		put_number(to, size, n, (uint64_t)(of->left_us / 1000000));
		break;
	case 7:
		put(to, size, n, phx_start_doing(why_next(of->w)));
		break;
	default:
		return 0;
	}
	return strlen(words[i]);
}

static void expand(const struct words *of, const char *text, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	while (*text) {
		size_t word = *text == '@' ? put_word(of, text, ret, size, &n) : 0;
		char one[2] = {*text, '\0'};
		if (!word)
			put(ret, size, &n, one);
		text += word ? word : 1;
	}
}

void phx_why_judge(struct phx_why *w, struct phx_why_verdict *ret)
{
	const struct phx_start_row *row = NULL;
	int cause = 0;
	while (cause < PHX_WHY_COUNT_ && !(row = why_show(w, (enum phx_why_cause)cause)))
		cause++;
	if (!row) { /* that of `unknown` is where there is no other */
		cause = PHX_WHY_unknown;
		w->said = (struct phx_start_row){0};
		row = &w->said;
	}
	int64_t deadline_us = why_deadline_us(w), left_us = deadline_us - w->now_us;
	const struct words of = {w, row, left_us > 0 ? left_us : 0};
	*ret = (struct phx_why_verdict){
		.cause = cause,
		.wrong = causes[cause].wrong,
		.proven = causes[cause].proven,
		.phase = (int)(causes[cause].phase ? causes[cause].phase : why_next(w)),
		.since_us = w->reached_us,
		.deadline_us = deadline_us};
	expand(&of, causes[cause].text, ret->text, sizeof(ret->text));
	expand(&of, causes[cause].act, ret->act, sizeof(ret->act));
}
