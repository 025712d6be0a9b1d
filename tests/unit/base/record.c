/* Records and their JSON: a record with every kind of field goes to text and
 * back; whatever is wrong with the text is named by its path. */
#include "base/json.h"

#include "unit/base/test_base.h"

enum mood { CALM, TENSE };
static const char *const mood_names[] = {"calm", "tense"};
static const struct phx_enum moods_names = {"mood", mood_names, 2};

#define PORT_FIELDS(F, S) \
	F(S, name, STR(8)) \
	F(S, speed, U32)
struct port {
	PHX_MEMBERS(port, PORT_FIELDS)
};
PHX_RECORD_LOCAL(port, port, PORT_FIELDS);

#define CARD_FIELDS(F, S) \
	F(S, slot, STR(8)) \
	F(S, ports, LIST(port))
struct card {
	PHX_MEMBERS(card, CARD_FIELDS)
};
PHX_RECORD_LOCAL(card, card, CARD_FIELDS);

/* A live object: keeps a sum ready, its image is what was added. */
#define TALLY_IMAGE_FIELDS(F, S) \
	F(S, ports, LIST(port)) \
	F(S, wrong, BOOL)
struct tally_image {
	PHX_MEMBERS(tally_image, TALLY_IMAGE_FIELDS)
};
PHX_RECORD_LOCAL(tally, tally_image, TALLY_IMAGE_FIELDS);

struct tally {
	struct phx_list ports; /* struct port */
	uint32_t sum;
};

static int tally_add(struct tally *t, uint32_t speed)
{
	struct port *p = phx_list_push(&t->ports, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->speed = speed;
	t->sum += speed;
	return 0;
}

static int tally_save(const void *live, void *ret_image)
{
	const struct tally *t = live;
	struct tally_image view = {.ports = t->ports};
	return phx_record_copy(&tally_record, ret_image, &view);
}

static void tally_free(void *live)
{
	phx_list_fini(&((struct tally *)live)->ports);
	free(live);
}

static int tally_restore(const void *image, void **ret_live)
{
	const struct tally_image *from = image;
	if (from->wrong)
		return -EINVAL;
	struct tally *t = calloc(1, sizeof(*t));
	assert_non_null(t);
	PHX_LIST_EACH(struct port, p, &from->ports)
		assert_int_equal(tally_add(t, p->speed), 0);
	*ret_live = t;
	return 0;
}
static const struct phx_live tally_live = {&tally_record, tally_save, tally_restore, tally_free};

#define BOX_FIELDS(F, S) \
	F(S, name, STR(16)) \
	F(S, weight, U32) \
	F(S, bytes, U64) \
	F(S, offset, I64) \
	F(S, open, BOOL) \
	F(S, mood, ENUM(moods)) \
	F(S, uplink, REC(port)) \
	F(S, cards, LIST(card)) \
	F(S, tally, LIVE(struct tally, tally_live)) \
	F(S, note, TEXT)
struct box {
	PHX_MEMBERS(box, BOX_FIELDS)
};
PHX_RECORD_LOCAL(box, box, BOX_FIELDS);

static void box_fini(struct box *b)
{
	phx_record_fini(&box_record, b);
}
#define AUTO_BOX PHX_AUTO(box_fini) struct box

static struct box make_box(void)
{
	struct box b = {.name = "caf\xc3\xa9",
			.weight = UINT32_MAX,
			.bytes = INT64_MAX,
			.offset = INT64_MIN,
			.open = true,
			.mood = TENSE,
			.uplink = {"up", 100}};
	for (int i = 0; i < 3; i++) {
		struct card *c = phx_list_push(&b.cards, sizeof(*c));
		snprintf(c->slot, sizeof(c->slot), "s%d", i);
		for (int k = 0; k < i; k++) {
			struct port *p = phx_list_push(&c->ports, sizeof(*p));
			p->speed = (uint32_t)(i * 10 + k);
		}
	}
	return b;
}

static void test_copy_is_deep(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	AUTO_BOX b;
	memset(&b, 0xee, sizeof(b));
	assert_int_equal(phx_record_copy(&box_record, &b, &a), 0);
	assert_true(phx_record_equal(&box_record, &a, &b));
	struct port *deep =
		PHX_LIST_AT(&PHX_LIST_AT(&b.cards, struct card, 2)->ports, struct port, 1);
	deep->speed++;
	assert_false(phx_record_equal(&box_record, &a, &b));
	assert_int_equal(
		PHX_LIST_AT(&PHX_LIST_AT(&a.cards, struct card, 2)->ports, struct port, 1)->speed,
		21);
}

static void test_equal_sees_every_field(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	for (int change = 0; change < 9; change++) {
		AUTO_BOX b = make_box();
		switch (change) {
		case 0:
			b.name[1] = 'x';
			break;
		case 1:
			b.weight--;
			break;
		case 2:
			b.bytes--;
			break;
		case 3:
			b.offset++;
			break;
		case 4:
			b.open = false;
			break;
		case 5:
			b.mood = CALM;
			break;
		case 6:
			b.uplink.speed++;
			break;
		case 7:
			PHX_LIST_AT(&b.cards, struct card, 0)->slot[0] = 'x';
			break;
		case 8:
			phx_list_push(&b.cards, sizeof(struct card));
			break;
		}
		assert_false(phx_record_equal(&box_record, &a, &b));
	}
}

/* A word may be as long as it likes to 128 KiB: in a record, in a list, in JSON. */
static void test_texts_of_any_length(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	AUTO_BOX b;
	PHX_AUTO_FREE char *words = malloc(PHX_TEXT_MAX + 2);
	memset(words, 'w', PHX_TEXT_MAX + 1);
	words[PHX_TEXT_MAX] = '\0';
	a.note = strdup(words);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&box_record, &a);
	assert_int_equal(phx_json_to_record(&box_record, j, &b, NULL), 0);
	assert_string_equal(b.note, words);
	assert_true(phx_record_equal(&box_record, &a, &b));
	b.note[7] = 'x';
	assert_string_equal(a.note, words);
	assert_false(phx_record_equal(&box_record, &a, &b));
	free(b.note);
	b.note = strdup("");
	free(a.note);
	a.note = NULL; /* none is the same as an empty one */
	assert_true(phx_record_equal(&box_record, &a, &b));
	words[PHX_TEXT_MAX] = 'w';
	words[PHX_TEXT_MAX + 1] = '\0';
	json_object_set_new(j, "note", json_string(words));
	struct phx_err err = {0};
	struct box none;
	assert_int_equal(phx_json_to_record(&box_record, j, &none, &err), -EINVAL);
	assert_string_equal(err.text, "note: is too long");
}

#define TEXTS_FIELDS(F, S) F(S, words, LIST(phx_text))
struct texts {
	PHX_MEMBERS(texts, TEXTS_FIELDS)
};
PHX_RECORD_LOCAL(texts, texts, TEXTS_FIELDS);

static void test_lists_of_texts(void **state)
{
	(void)state;
	struct texts a = {0}, b;
	assert_int_equal(phx_text_push(&a.words, "one"), 0);
	assert_int_equal(phx_text_push(&a.words, ""), 0);
	assert_int_equal(phx_record_copy(&texts_record, &b, &a), 0);
	phx_record_fini(&texts_record, &a);
	assert_int_equal(b.words.n, 2);
	assert_string_equal(phx_text_at(&b.words, 0), "one");
	assert_string_equal(phx_text_at(&b.words, 1), "");
	/* as words of a fixed size were written */
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&texts_record, &b);
	PHX_AUTO_FREE char *text = phx_json_text(j);
	assert_string_equal(text, "{\"words\":[{\"text\":\"one\"},{\"text\":\"\"}]}");
	phx_record_fini(&texts_record, &b);
}

static void test_equal_ignores_what_is_behind_a_string(void **state)
{
	(void)state;
	struct port a = {"x", 1}, b = {"x", 1};
	b.name[5] = 'j';
	assert_true(phx_record_equal(&port_record, &a, &b));
}

static void test_fini_twice(void **state)
{
	(void)state;
	struct box a = make_box();
	phx_record_fini(&box_record, &a);
	phx_record_fini(&box_record, &a);
	assert_int_equal(a.cards.n, 0);
	assert_string_equal(a.name, "");
}

static void test_json_there_and_back(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&box_record, &a);
	PHX_AUTO_FREE char *text = phx_json_text(j);
	assert_non_null(text);
	assert_memory_equal(text, "{\"name\":", 8); /* in table order */
	assert_non_null(strstr(
		text,
		"\"bytes\":9223372036854775807,\"offset\":-9223372036854775808,\"open\":true,"
		"\"mood\":\"tense\",\"uplink\":{\"name\":\"up\",\"speed\":100}"));
	PHX_AUTO_JSON json_t *again = NULL;
	assert_int_equal(phx_json_parse(text, strlen(text), &again, NULL), 0);
	AUTO_BOX b;
	assert_int_equal(phx_json_to_record(&box_record, again, &b, NULL), 0);
	assert_true(phx_record_equal(&box_record, &a, &b));
}

static void test_invalid_utf8_is_repaired(void **state)
{
	(void)state;
	struct port p = {"\xff\xfe", 1};
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&port_record, &p);
	assert_string_equal(phx_json_str(j, "name", ""), "??");
}

/* What is written is what the parser's own writer would write: a journal of either is the
 * other's. */
static void test_text_is_canonical(void **state)
{
	struct phx_text all = {.text = calloc(1, 600)};
	(void)state;
	assert_non_null(all.text);
	for (int c = 1; c < 256; c++) /* each byte alone: those above 127 are no UTF-8 */
		all.text[c - 1] = (char)c;
	strcat(all.text, "\u00e4\u20ac\U0001f600 \xe2\x82");
	PHX_AUTO_FREE char *text = phx_json_record_text(&phx_text_record, &all);
	assert_non_null(text);
	PHX_AUTO_JSON json_t *j = json_loads(text, 0, NULL);
	PHX_AUTO_FREE char *theirs = phx_json_text(j);
	assert_string_equal(text, theirs);
	assert_non_null(strstr(text, "\\u0001"));
	assert_non_null(strstr(text, "\\b\\t\\n\\u000B\\f\\r"));
	assert_non_null(strstr(text, "\u00e4\u20ac\U0001f600 ??\"}"));
	phx_record_fini(&phx_text_record, &all);
}

static void test_sparse_text_leaves_out_what_is_nothing(void **state)
{
	(void)state;
	struct box none = {0};
	PHX_AUTO_FREE char *nothing = phx_json_record_text_sparse(&box_record, &none);
	assert_string_equal(nothing, "{}");
	none.uplink.speed = 7;
	none.offset = INT64_MIN;
	PHX_AUTO_FREE char *text = phx_json_record_text_sparse(&box_record, &none);
	assert_string_equal(text, "{\"offset\":-9223372036854775808,\"uplink\":{\"speed\":7}}");
}

static void test_members_that_are_left_out(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	struct phx_json_less less = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	assert_int_equal(phx_json_less_add(&less, &box_record, "cards.ports.speed"), 0);
	assert_int_equal(phx_json_less_add(&less, &box_record, "cards.ports.sped"), -EINVAL);
	assert_int_equal(phx_json_less_add(&less, &box_record, "name.first"), -EINVAL);
	for (size_t i = 0; i < box_record.n_fields; i++)
		if (!strcmp(box_record.fields[i].name, "cards"))
			phx_json_put_field(&b, &box_record.fields[i], &a, &less);
	assert_non_null(strstr(b.data, "\"ports\":[{\"name\":"));
	assert_null(strstr(b.data, "speed"));
}

/* For who reads without the table: what is empty goes, but no word of an enum, and nothing within
 * lists. */
static void test_members_that_are_empty_are_left_out(void **state)
{
	(void)state;
	struct phx_json_less less = {.empty = true};
	struct card cards[] = {{.slot = ""}};
	struct box b = {.weight = 3, .cards = {cards, 1, 1}};
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	for (size_t i = 0; i < box_record.n_fields; i++)
		phx_json_put_field(&text, &box_record.fields[i], &b, &less);
	assert_string_equal(
		text.data,
		"\"weight\":3,\"mood\":\"calm\",\"cards\":[{\"slot\":\"\",\"ports\":[]}]");
}

static void assert_no_record(const char *text, const char *why)
{
	AUTO_BOX b;
	struct phx_err err = {0};
	assert_int_equal(phx_json_text_to_record(&box_record, text, &b, &err), -EINVAL);
	if (!strstr(err.text, why))
		fail_msg("'%s' is not in '%s'", why, err.text);
	assert_null(b.cards.items);
}

/* Part by part it comes to the same as in one piece, and says the same of what is wrong. */
static void test_a_record_part_by_part(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	AUTO_BOX b;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = phx_json_record_text(&box_record, &a);
	assert_int_equal(phx_json_text_to_record(&box_record, text, &b, &err), 0);
	assert_true(phx_record_equal(&box_record, &a, &b));
	box_fini(&b);
	PHX_AUTO_FREE char *least = phx_json_record_text_least(&box_record, &a);
	PHX_AUTO_FREE char *sparse = phx_json_record_text_sparse(&box_record, &a);
	assert_int_equal(phx_json_text_to_record(&box_record, least, &b, &err), 0);
	assert_true(phx_record_equal(&box_record, &a, &b));
	assert_true(strlen(least) < strlen(sparse) && strlen(sparse) < strlen(text));
	box_fini(&b);
	assert_int_equal(phx_json_text_to_record(
				 &box_record, " { \"weight\" : 7 ,\n\"cards\" : [ ] } ", &b, &err),
			 0);
	assert_int_equal(b.weight, 7);
	box_fini(&b);
	assert_int_equal(phx_json_text_to_record(&box_record, "{}", &b, &err), 0);
	assert_no_record("", "document: must be an object");
	assert_no_record("[]", "document: must be an object");
	assert_no_record("{\"weight\":7", "'}' is expected");
	assert_no_record("{\"weight\":7}}", "the end is expected");
	assert_no_record("{\"weight\":7,\"weight\":8}", "weight: is there twice");
	assert_no_record("{\"weight\" 7}", "a member is expected");
	assert_no_record("{7:7}", "a member is expected");
	assert_no_record("{\"weight\":-7}", "weight: must not be negative");
	assert_no_record("{\"wieght\":7}", "wieght: is not known here");
	assert_no_record("{\"cards\":[{\"slot\":\"a\"},{\"slot\":1}]}",
			 "cards[1].slot: must be a string");
	assert_no_record("{\"cards\":[{\"slot\":\"a\"}", "']' is expected");
	assert_no_record("{\"cards\":[{\"slot\":\"a\",\"slot\":\"b\"}]}",
			 "cards[0].slot: is there twice");
	assert_no_record("{\"cards\":7}", "cards: must be a list");
}

static void test_absent_fields_are_zero(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *j = json_pack("{s:s}", "name", "x");
	AUTO_BOX b;
	memset(&b, 0xee, sizeof(b));
	assert_int_equal(phx_json_to_record(&box_record, j, &b, NULL), 0);
	assert_int_equal(b.weight, 0);
	assert_int_equal(b.cards.n, 0);
	assert_null(b.cards.items);
}

static void test_wrong_documents(void **state)
{
	(void)state;
	static const struct {
		const char *text, *say;
	} rows[] = {
		{"[]", "must be an object"},
		{"{\"colour\":1}", "colour: is not known here"},
		{"{\"name\":1}", "name: must be a string"},
		{"{\"name\":null}", "name: must be a string"},
		{"{\"name\":\"sixteen letters!\"}", "name: is too long"},
		{"{\"weight\":-1}", "weight: must not be negative"},
		{"{\"weight\":4294967296}", "weight: is too large"},
		{"{\"weight\":1.0}", "weight: must be a whole number"},
		{"{\"bytes\":\"5\"}", "bytes: must be a whole number"},
		{"{\"bytes\":-5}", "bytes: must not be negative"},
		{"{\"open\":1}", "open: must be true or false"},
		{"{\"mood\":\"wild\"}", "mood: 'wild' is no mood; there are: calm, tense"},
		{"{\"mood\":1}", "mood: "},
		{"{\"uplink\":[]}", "uplink: must be an object"},
		{"{\"uplink\":{\"speed\":true}}", "uplink.speed: must be a whole number"},
		{"{\"cards\":{}}", "cards: must be a list"},
		{"{\"cards\":[{},{\"ports\":[{},{\"speed\":\"x\"}]}]}",
		 "cards[1].ports[1].speed: must be"},
		{"{\"cards\":[{\"ports\":[{}]},3]}", "cards[1]: must be an object"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_JSON json_t *j = NULL;
		struct phx_err err = {0};
		struct box b, zero = {0};
		memset(&b, 0xee, sizeof(b));
		assert_int_equal(phx_json_parse(rows[i].text, strlen(rows[i].text), &j, NULL), 0);
		assert_int_equal(phx_json_to_record(&box_record, j, &b, &err), -EINVAL);
		assert_says(&err, rows[i].say);
		assert_memory_equal(&b, &zero, sizeof(b)); /* nothing half filled, nothing leaked */
	}
}

static void test_parse_refuses(void **state)
{
	(void)state;
	static const struct {
		const char *text, *say;
	} rows[] = {
		{"", "JSON line 1"},
		{"{\"a\":1", "JSON line 1, column"},
		{"{\"a\":1}x", "JSON line 1"},
		{"{\"a\":1,\n\"a\":2}", "JSON line 2, column"},
		{"{\"a\":\"\\u0000\"}", "JSON line 1"},
		{"{\"a\":\"\xff\"}", "JSON line 1"},
		{"{\"a\":99999999999999999999}", "too big"},
		{"{'a':1}", "JSON line 1"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		json_t *j = NULL;
		struct phx_err err = {0};
		assert_int_equal(phx_json_parse(rows[i].text, strlen(rows[i].text), &j, &err),
				 -EINVAL);
		assert_says(&err, rows[i].say);
		assert_null(j);
	}
}

static void test_parse_stops_at_n(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *j = NULL;
	assert_int_equal(phx_json_parse("{\"a\":1}garbage", 7, &j, NULL), 0);
	assert_true(phx_json_int(j, "a", 0) == 1);
}

static void test_nesting_is_limited(void **state)
{
	(void)state;
	enum { DEPTH = 100000 };
	PHX_AUTO_FREE char *text = malloc(DEPTH);
	memset(text, '[', DEPTH);
	json_t *j = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_json_parse(text, DEPTH, &j, &err), -EINVAL);
	assert_says(&err, "depth");
}

static void add_tally(struct box *b)
{
	b->tally = calloc(1, sizeof(*b->tally));
	assert_non_null(b->tally);
	assert_int_equal(tally_add(b->tally, 3), 0);
	assert_int_equal(tally_add(b->tally, 4), 0);
}

static void test_live_object_is_copied_and_compared_by_its_image(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	AUTO_BOX b = {0};
	add_tally(&a);
	assert_int_equal(phx_record_copy(&box_record, &b, &a), 0);
	assert_ptr_not_equal(a.tally, b.tally);
	assert_int_equal(b.tally->sum, 7);
	assert_true(phx_record_equal(&box_record, &a, &b));
	assert_int_equal(tally_add(b.tally, 1), 0);
	assert_false(phx_record_equal(&box_record, &a, &b));
	tally_free(b.tally);
	b.tally = NULL;
	assert_false(phx_record_equal(&box_record, &a, &b));
	assert_false(phx_record_equal(&box_record, &b, &a));
}

static void test_live_object_in_json(void **state)
{
	(void)state;
	AUTO_BOX a = make_box();
	AUTO_BOX b = {0};
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *none = phx_json_from_record(&box_record, &a);
	assert_true(json_is_null(json_object_get(none, "tally")));
	assert_int_equal(phx_json_to_record(&box_record, none, &b, &err), 0);
	assert_null(b.tally);
	add_tally(&a);
	PHX_AUTO_JSON json_t *j = phx_json_from_record(&box_record, &a);
	phx_record_fini(&box_record, &b);
	assert_int_equal(phx_json_to_record(&box_record, j, &b, &err), 0);
	assert_int_equal(b.tally->sum, 7);
	phx_record_fini(&box_record, &b);
	json_object_set_new(json_object_get(j, "tally"), "wrong", json_true());
	assert_int_equal(phx_json_to_record(&box_record, j, &b, &err), -EINVAL);
	assert_string_equal(err.text, "tally: contradicts itself");
	assert_null(b.tally);
}

static void test_members(void **state)
{
	(void)state;
	PHX_AUTO_JSON json_t *j = json_pack("{s:s,s:i,s:b}", "s", "text", "i", 5, "b", 1);
	assert_string_equal(phx_json_str(j, "s", "-"), "text");
	assert_string_equal(phx_json_str(j, "i", "-"), "-");
	assert_null(phx_json_str(j, "none", NULL));
	assert_string_equal(phx_json_str(NULL, "s", "-"), "-");
	assert_true(phx_json_int(j, "i", -1) == 5);
	assert_true(phx_json_int(j, "s", -1) == -1);
	assert_true(phx_json_bool(j, "b", false));
	assert_true(phx_json_bool(j, "none", true));
	assert_false(phx_json_bool(j, "i", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_of_any_length),
		cmocka_unit_test(test_lists_of_texts),
		cmocka_unit_test(test_copy_is_deep),
		cmocka_unit_test(test_equal_sees_every_field),
		cmocka_unit_test(test_equal_ignores_what_is_behind_a_string),
		cmocka_unit_test(test_fini_twice),
		cmocka_unit_test(test_json_there_and_back),
		cmocka_unit_test(test_invalid_utf8_is_repaired),
		cmocka_unit_test(test_text_is_canonical),
		cmocka_unit_test(test_sparse_text_leaves_out_what_is_nothing),
		cmocka_unit_test(test_members_that_are_left_out),
		cmocka_unit_test(test_members_that_are_empty_are_left_out),
		cmocka_unit_test(test_a_record_part_by_part),
		cmocka_unit_test(test_absent_fields_are_zero),
		cmocka_unit_test(test_wrong_documents),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_parse_stops_at_n),
		cmocka_unit_test(test_nesting_is_limited),
		cmocka_unit_test(test_live_object_is_copied_and_compared_by_its_image),
		cmocka_unit_test(test_live_object_in_json),
		cmocka_unit_test(test_members),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
