/* The API of agreements: the fields of an agreement, checking one while it is written, and reading
 * that of a request. lib/config finds what is wrong with an agreement by itself, as for `phx re
 * check`; what only the head knows, such as roles, images and names that are taken, is checked
 * here, without requesting anything. Called by routes.c and api_re.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "config/agreement.h"
#include "phxd/asker.h"
#include "phxd/parse.h"
#include "re/re.h"
#include "types/re_kind.h"

/* ---- what an agreement may say ---- */

static const char *form_name(enum phx_key_form form)
{
	static const char *const names[] = {
		[PHX_KEY_TEXT] = "text",         [PHX_KEY_NAME] = "name",
		[PHX_KEY_IDENTITY] = "identity", [PHX_KEY_NUMBER] = "number",
		[PHX_KEY_BOUND] = "bound",       [PHX_KEY_TIME] = "time",
		[PHX_KEY_FRACTION] = "fraction", [PHX_KEY_YES] = "yes",
		[PHX_KEY_CHOICE] = "choice",     [PHX_KEY_OTHER] = "other",
	};
	return form < PHX_ARRAY_SIZE(names) && names[form] ? names[form] : "text";
}

static json_t *choices_of(const struct phx_field *f)
{
	json_t *list = json_array();
	for (int i = 0; f->key->form == PHX_KEY_CHOICE && i < f->names->n_names; i++)
		json_array_append_new(list, json_string(f->names->names[i]));
	return list;
}

/* The types of RE whose agreements have this key. */
static json_t *types_of(const char *key)
{
	json_t *list = json_array();
	for (int i = 0; i < PHX_RE_TYPE_COUNT_; i++)
		if (phx_re_kind_may_have(phx_re_kinds[i], key))
			json_array_append_new(list, json_string(phx_re_type_names.names[i]));
	return list;
}

static json_t *field_json(const struct phx_field *f)
{
	const struct phx_key *k = f->key;
	bool bounded = k->form == PHX_KEY_NUMBER || k->form == PHX_KEY_BOUND ||
		(k->form == PHX_KEY_TEXT && k->max);
	json_t *j = json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:b}", "key", k->name, "form",
			      form_name(k->form), "default", k->fallback ? k->fallback : "",
			      "prose", k->prose, "choices", choices_of(f), "types",
			      types_of(k->name), "told", phx_agreement_row_is_told(f));
	if (bounded) {
		json_object_set_new(j, "min", json_integer(k->min));
		json_object_set_new(j, "max", json_integer(k->max));
	}
	if (k->unit && k->unit[0])
		json_object_set_new(j, "unit", json_string(k->unit));
	return j;
}

void api_agreement_fields(struct phx_http_request *q, void *arg)
{
	const struct phx_field *f;
	PHX_AUTO_JSON json_t *list = json_array();
	(void)arg;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		json_array_append_new(list, field_json(f));
	PHX_AUTO_JSON json_t *j = json_pack("{s:O}", "fields", list);
	phx_http_reply_json(q, 200, j);
}

/* ---- the agreement of a request ---- */

struct first_finding {
	bool any;
	struct phx_err *err;
};

static void keep_first(void *arg, const char *field, const char *text)
{
	struct first_finding *first = arg;
	if (!first->any)
		phx_err_set(first->err, -EINVAL, "%s: %s", field, text);
	first->any = true;
}

/* A new agreement may not hold what only older journals may still have. */
static int check_new(const struct phx_agreement *g, struct phx_err *err)
{
	struct first_finding first = {.err = err};
	return phx_agreement_check_new(g, keep_first, &first) ? -EINVAL : 0;
}

/* Adds the kind to the identities that the agreement names. */
static int settle_people(struct phx_agreement *g, struct phx_err *err)
{
	char word[PHX_IDENTITY_MAX];
	PHX_STR_SET(word, g->owner);
	int r = word[0] ? identity_settle(word, "", g->owner, err) : 0;
	if (r < 0)
		return phx_err_prefix(err, r, "owner");
	r = identity_settle_list(g->users, sizeof(g->users), err);
	return r < 0 ? phx_err_prefix(err, r, "users") : 0;
}

static int settle(struct daemon *d, struct phx_agreement *g, bool packages, struct phx_err *err)
{
	int r = check_new(g, err);
	r = r ? r : settle_people(g, err);
	return r ? r : re_image_settle(d, g, packages, err);
}

static int read_agreement(const json_t *given, struct phx_agreement *ret, struct phx_err *err)
{
	struct phx_agreement fallback;
	phx_agreement_init(&fallback);
	PHX_AUTO_JSON json_t *whole = phx_json_from_record(&phx_agreement_record, &fallback);
	if (!json_is_object(given))
		return phx_err_set(err, -EINVAL, "agreement: must be an object");
	if (json_object_update(whole, (json_t *)given))
		return -ENOMEM;
	return phx_json_to_record(&phx_agreement_record, whole, ret, err);
}

bool agreement_parse(struct daemon *d, struct phx_http_request *q, const json_t *j,
		     struct phx_agreement *ret)
{
	struct phx_err err = {0};
	int r = read_agreement(json_object_get(j, "agreement"), ret, &err);
	bool packages = person_has_all(d, phx_http_peer(q), PHX_RIGHT_packages);
	if (r == 0 && (r = settle(d, ret, packages, &err)) < 0)
		phx_record_fini(&phx_agreement_record, ret);
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	return r == 0;
}

int agreement_settle_owner(const struct asker *asker, struct phx_agreement *g, struct phx_err *err)
{
	bool own = !asker->provider || phx_agreement_one_person(g);
	if (!g->owner[0] && own)
		PHX_STR_SET(g->owner, asker->person.identity);
	if (!g->owner[0])
		return phx_err_set(
			err, -EINVAL,
			"owner: whose RE is it? Name its service provider in the agreement, "
			"or ask for it as that user; relationship = \"same\" where you are both");
	if (asker->provider || person_is(&asker->person, g->owner))
		return 0;
	return phx_err_set(err, -EPERM, "owner: a service provider asks for an RE of its own only");
}

enum phx_re_who agreement_who(const struct asker *asker, const struct phx_agreement *g, bool create)
{
	bool as_provider = create ? asker->provider : !asker_is_service(asker, g);
	return as_provider ? PHX_RE_WHO_PROVIDER : PHX_RE_WHO_SERVICE;
}

/* ---- checked while it is written ---- */

/* The agreement to check: a text, or values from which a text is written. */
struct draft {
	char *text; /* malloc'd */
	size_t n;
	struct phx_list given; /* struct phx_agreement_given: the keys in the text */
};

static void draft_fini(struct draft *t)
{
	free(t->text);
	phx_list_fini(&t->given);
}

static int take_values(const json_t *values, bool extension, struct phx_list *to,
		       struct phx_err *err)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)values, key, v) {
		const char *value = json_string_value(v);
		struct phx_agreement_given *g = phx_list_push(to, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->extension = extension;
		if (!value || PHX_STR_SET(g->key, key) < 0 || PHX_STR_SET(g->value, value) < 0)
			return phx_err_set(err, -EINVAL,
					   "%.60s: must be a text of at most %zu characters", key,
					   sizeof(g->value) - 1);
	}
	return 0;
}

static int write_draft(const json_t *j, struct draft *ret, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	int r = take_values(json_object_get(j, "values"), false, &ret->given, err);
	r = r ? r : take_values(json_object_get(j, "extensions"), true, &ret->given, err);
	r = r ? r : phx_agreement_write_given(&ret->given, &b, err);
	if (r < 0)
		return r;
	ret->n = b.n;
	ret->text = phx_buf_take(&b);
	return ret->text ? 0 : -ENOMEM;
}

/* A text as it was written. Only phx reads files in the papers' form. */
static int copy_draft(const char *text, struct draft *ret, struct phx_err *err)
{
	if (text[strspn(text, " \t\r\n")] == '<')
		return phx_err_set(err, -EINVAL,
				   "text: XML is not taken here; phx re check reads it, and phx re "
				   "show --conf has it in the form that is");
	ret->text = strdup(text);
	if (!ret->text)
		return -ENOMEM;
	ret->n = strlen(text);
	return phx_agreement_given_in(ret->text, ret->n, &ret->given);
}

static int read_draft(const json_t *j, struct draft *ret, struct phx_err *err)
{
	const json_t *text = json_object_get(j, "text");
	const json_t *values = json_object_get(j, "values");
	const json_t *extensions = json_object_get(j, "extensions");
	if (json_is_string(text) && !values && !extensions)
		return copy_draft(json_string_value(text), ret, err);
	if (!text && json_is_object(values) && (!extensions || json_is_object(extensions)))
		return write_draft(j, ret, err);
	return phx_err_set(err, -EINVAL,
			   "values: must be an object of texts, or text: an agreement as a text; "
			   "not both");
}

static const struct phx_agreement_given *given_of(const struct draft *t, const char *key, size_t n)
{
	PHX_LIST_EACH(struct phx_agreement_given, g, &t->given)
		if (!g->extension && strlen(g->key) == n && !strncmp(g->key, key, n))
			return g;
	return NULL;
}

static bool is_key(const char *key, size_t n)
{
	const struct phx_field *f;
	for (size_t i = 0; (f = phx_agreement_row(i)); i++)
		if (strlen(f->key->name) == n && !strncmp(f->key->name, key, n))
			return true;
	return false;
}

/* The line of a key in the text that was written from values. */
static uint32_t line_of(const struct draft *t, const char *key, size_t n)
{
	PHX_AUTO(phx_list_fini) struct phx_list given = {0};
	const struct phx_agreement_given *g = given_of(t, key, n);
	if (g && g->line)
		return g->line;
	if (phx_agreement_given_in(t->text, t->n, &given) < 0)
		return 0;
	const struct draft again = {.given = given};
	g = given_of(&again, key, n);
	return g ? g->line : 0;
}

/* Turns "FIELD: why" of the head into a finding, as phx re request tells it. That a name is taken
 * is a finding about `name`. */
static void add_finding(json_t *findings, const struct draft *t, int code, const char *text)
{
	size_t n = strcspn(text, ":");
	bool field = text[n] && is_key(text, n);
	const char *key = field ? text : code == -EEXIST ? "name" : "";
	size_t n_key = field ? n : strlen(key);
	json_array_append_new(findings,
			      json_pack("{s:I,s:s%,s:s}", "line",
					(json_int_t)line_of(t, key, n_key), "field", key, n_key,
					"text",
					field ? text + n + 1 + strspn(text + n + 1, " ") : text));
}

/* Would the head refuse it now? Requests nothing. */
static int would_refuse(struct daemon *d, const struct asker *asker, struct phx_agreement *g,
			bool create, struct phx_err *err)
{
	int r = settle(d, g, asker->packages, err);
	r = r ? r : agreement_settle_owner(asker, g, err);
	if (r < 0)
		return r;
	phx_agreement_settle(g);
	enum phx_re_who who = agreement_who(asker, g, create);
	const struct phx_state *s = engine_lock(d->engine);
	r = phx_re_check_new(s, g, who, create, err);
	engine_unlock(d->engine);
	return r;
}

/* The value of each key, given or not. */
static json_t *meant_json(const struct phx_agreement *g)
{
	json_t *j = json_object();
	const struct phx_field *f;
	char value[256];
	for (size_t i = 0; (f = phx_agreement_row(i)); i++) {
		if (f->key->form == PHX_KEY_OTHER ||
		    !phx_re_kind_may_have(phx_re_kind(g), f->key->name))
			continue;
		phx_key_format(f, (const char *)g + f->offset, value, sizeof(value));
		json_object_set_new(j, f->key->name, json_string(value));
	}
	return j;
}

static json_t *given_json(const struct draft *t, bool extension)
{
	json_t *j = json_object();
	PHX_LIST_EACH(struct phx_agreement_given, g, &t->given)
		if (g->extension == extension)
			json_object_set_new(j, g->key, json_string(g->value));
	return j;
}

/* For an agreement without findings: how it was read, what it means, and whether the head would
 * accept it. */
static void add_meaning(struct daemon *d, const struct asker *asker, const struct draft *t,
			bool create, struct phx_agreement *g, json_t *answer)
{
	struct phx_err err = {0};
	json_object_set_new(answer, "agreement", phx_json_from_record(&phx_agreement_record, g));
	json_object_set_new(answer, "meant", meant_json(g));
	int r = would_refuse(d, asker, g, create, &err);
	phx_utf8_repair(err.text);
	if (r < 0)
		add_finding(json_object_get(answer, "findings"), t, r, err.text);
}

static json_t *check_draft(struct daemon *d, const struct asker *asker, const struct draft *t,
			   bool create)
{
	PHX_AUTO(phx_list_fini) struct phx_list findings = {0};
	struct phx_agreement g;
	json_t *list = json_array();
	int r = phx_agreement_parse(t->text, t->n, "agreement", "", &g, &findings, NULL);
	PHX_LIST_EACH(struct phx_agreement_finding, f, &findings)
		json_array_append_new(list, phx_json_from_record(&phx_agreement_finding_record, f));
	json_t *answer = json_pack("{s:s,s:o,s:o,s:o,s:n,s:n}", "text", t->text, "values",
				   given_json(t, false), "extensions", given_json(t, true),
				   "findings", list, "agreement", "meant");
	if (r == 0) {
		add_meaning(d, asker, t, create, &g, answer);
		phx_record_fini(&phx_agreement_record, &g);
	}
	return answer;
}

void api_agreement_check(struct phx_http_request *q, void *arg)
{
	static const char *const members[] = {"text", "values", "extensions", "create"};
	struct daemon *d = arg;
	struct asker asker = asker_of(d, q, PHX_RIGHT_re_grant);
	PHX_AUTO(draft_fini) struct draft t = {0};
	struct phx_err err = {0};
	bool create;
	PHX_AUTO_JSON json_t *j = body_json(q);
	if (!j || !parse_only(q, j, members, PHX_ARRAY_SIZE(members)) ||
	    !parse_bool(q, j, "create", &create))
		return;
	int r = read_draft(j, &t, &err);
	PHX_AUTO_JSON json_t *answer = r == 0 ? check_draft(d, &asker, &t, create) : NULL;
	if (r < 0)
		phx_http_reply_error(q, r, err.text);
	else if (answer)
		phx_http_reply_json(q, 200, answer);
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}
