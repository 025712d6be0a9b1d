/* The policies against cases that were worked by hand: policy.txt.
 * PHX_GOLDEN_WRITE=1 prints the list as it would be now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "policy/policy.h"
#include "golden/table.h"

struct occasion {
	const struct phx_policy *policy;
	struct phx_policy_params params;
	struct phx_policy_view view;
	char name[32];
	uint32_t k, size, mine;
};

static void set_side(struct phx_policy_side *s, const char *text, bool with_idle)
{
	int n = with_idle ? sscanf(text, "%u/%u/%u/%u", &s->owned, &s->idle, &s->coming, &s->owed)
			  : sscanf(text, "%u/%u/%u", &s->owned, &s->coming, &s->owed);

	assert_int_equal(n, with_idle ? 4 : 3);
	s->there = true;
}

static bool set_flag(struct occasion *o, const char *word)
{
	if (!strcmp(word, "unlimited")) {
		o->view.unlimited = true;
		o->view.free = UINT32_MAX;
	} else if (!strcmp(word, "byidle")) {
		o->params.release_by_idle = true;
	} else if (!strcmp(word, "own")) {
		o->params.release_pool = false;
	} else if (!strcmp(word, "full")) {
		o->params.return_full = true;
	} else {
		return false;
	}
	return true;
}

static void set_number(struct occasion *o, const char *word)
{
	struct phx_policy_view *v = &o->view;
	const struct {
		const char *key;
		uint32_t *to;
	} keys[] = {
		{"k", &o->k},
		{"lent", &v->lent},
		{"free", &v->free},
		{"lb", &v->side[PHX_PLACE_BATCH].lower},
		{"lw", &v->side[PHX_PLACE_WEB].lower},
		{"U", &o->params.u_milli},
		{"V", &o->params.v_milli},
		{"G", &o->params.g_milli},
		{"R", &o->params.r_milli},
		{"size", &o->size},
		{"mine", &o->mine},
		{"big", &v->side[PHX_PLACE_BATCH].waiting_biggest},
	};
	size_t n = strcspn(word, "=");

	assert_int_equal(word[n], '=');
	if (!strncmp(word, "q=", 2)) {
		v->side[PHX_PLACE_BATCH].waiting_nodes = strtoull(word + 2, NULL, 10);
		return;
	}
	if (!strncmp(word, "L=", 2)) {
		o->params.lease_ms = strtoll(word + 2, NULL, 10) * 1000;
		return;
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (strlen(keys[i].key) == n && !strncmp(keys[i].key, word, n)) {
			*keys[i].to = (uint32_t)strtoul(word + n + 1, NULL, 10);
			return;
		}
	fail_msg("unknown word %s", word);
}

static void read_occasion(struct occasion *o, char *words)
{
	char *save = NULL, *word = strtok_r(words, " ", &save);
	int id;

	memset(o, 0, sizeof(*o));
	o->params.release_pool = true;
	assert_int_equal(phx_enum_parse(&phx_policy_names, word, &id, NULL), 0);
	o->policy = phx_policy((enum phx_policy_id)id);
	snprintf(o->name, sizeof(o->name), "%s", strtok_r(NULL, " ", &save));
	while ((word = strtok_r(NULL, " ", &save))) {
		if (!strncmp(word, "b=", 2))
			set_side(&o->view.side[PHX_PLACE_BATCH], word + 2, true);
		else if (!strncmp(word, "w=", 2))
			set_side(&o->view.side[PHX_PLACE_WEB], word + 2, false);
		else if (!set_flag(o, word))
			set_number(o, word);
	}
}

typedef void (*occasion_fn)(const struct phx_policy_params *, const struct phx_policy_view *,
			    struct phx_policy_moves *);
typedef void (*web_fn)(const struct phx_policy_params *, const struct phx_policy_view *, uint32_t,
		       struct phx_policy_moves *);

static void ask(const struct occasion *o, struct phx_policy_moves *ret)
{
	const struct phx_policy *p = o->policy;
	bool request = !strcmp(o->name, "web_request");
	occasion_fn fn = !strcmp(o->name, "start") ? p->start
		: !strcmp(o->name, "freed")        ? p->freed
		: !strcmp(o->name, "cycle")        ? p->cycle
						   : p->lease_unit;

	ret->n = 0;
	if (request || !strcmp(o->name, "web_release")) {
		web_fn web = request ? p->web_request : p->web_release;
		if (web)
			web(&o->params, &o->view, o->k, ret);
		return;
	}
	assert_true(!strcmp(o->name, "start") || !strcmp(o->name, "freed") ||
		    !strcmp(o->name, "cycle") || !strcmp(o->name, "lease_unit"));
	if (fn)
		fn(&o->params, &o->view, ret);
}

static void say(const struct occasion *o, char *text, size_t size)
{
	static const char *const places[] = {"free", "batch", "web"};
	struct phx_policy_moves moves;
	size_t n = 0;

	if (!strcmp(o->name, "lease_end")) {
		snprintf(text, size, "%u",
			 o->policy->lease_end(&o->params, &o->view, o->size, o->mine));
		return;
	}
	ask(o, &moves);
	snprintf(text, size, "nothing");
	for (uint32_t i = 0; i < moves.n; i++) {
		const struct phx_policy_move *m = &moves.move[i];
		n += (size_t)snprintf(text + n, size - n, "%s%s>%s%s%s %u %s", i ? "; " : "",
				      places[m->from], places[m->to], m->forced ? "!" : "",
				      m->lease ? "~" : "", m->n,
				      phx_enum_name(&phx_policy_reason_names, m->reason));
	}
}

static void moves_are_as_worked_out(void **state)
{
	FILE *f = fopen(TEST_DIR "/golden/policy.txt", "re");
	bool write = golden_write();
	char line[512], words[512], got[512];
	unsigned lines = 0, wrong = 0;
	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *arrow = strstr(line, " -> ");
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || !arrow) {
			if (write)
				puts(line);
			continue;
		}
		struct occasion o;
		*arrow = '\0';
		snprintf(words, sizeof(words), "%s", line);
		read_occasion(&o, words);
		say(&o, got, sizeof(got));
		lines++;
		if (write)
			printf("%s -> %s\n", line, got);
		else if (strcmp(arrow + 4, got)) {
			print_error("%s\n  want %s\n  got  %s\n", line, arrow + 4, got);
			wrong++;
		}
	}
	fclose(f);
	assert_true(lines > 60);
	assert_int_equal(wrong, 0);
}

static void every_row_is_whole(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_POLICY_COUNT_; i++) {
		const struct phx_policy *p = phx_policy((enum phx_policy_id)i);
		int id;
		assert_string_equal(p->name, phx_enum_name(&phx_policy_names, i));
		assert_int_equal(phx_enum_parse(&phx_policy_names, p->name, &id, NULL), 0);
		assert_int_equal(id, i);
		assert_true(p->text[0] && p->source[0] && p->params);
		assert_false(p->fixed && (p->web_request || p->cycle || p->lease_unit || p->freed));
	}
	for (int i = 0; i < PHX_REASON_COUNT_; i++)
		assert_true(strlen(phx_policy_reason_text(i)) > 10);
	assert_string_equal(phx_policy_reason_text(-1), "?");
	assert_string_equal(phx_policy_reason_text(PHX_REASON_COUNT_), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_are_as_worked_out),
		cmocka_unit_test(every_row_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
