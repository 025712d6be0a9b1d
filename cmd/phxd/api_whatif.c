/* The API of what would have been. Who may search the whole journal asks about the whole cluster;
 * who may know what an RE held, so a service provider of his own, about that RE alone, and from
 * when it was asked for. Called by way of routes.def; whatif.c does it. Changes nothing. */
#include "phxd/whatif.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phxd/asker.h"
#include "phxd/parse.h"

enum { DAY_MS = 86400000, DELAY_MAX_MS = 7 * DAY_MS };

/* ---- what is asked ---- */

static bool parse_delay(struct phx_http_request *q, const json_t *j, const char *key,
			uint32_t fallback, uint32_t *ret)
{
	int64_t ms = fallback;
	if (!parse_number(q, j, key, 0, DELAY_MAX_MS, &ms))
		return false;
	*ret = (uint32_t)ms;
	return true;
}

/* False after answering. */
static bool parse_wish(struct daemon *d, struct phx_http_request *q, const json_t *j,
		       struct phx_past_wish *w)
{
	static const char *const members[] = {"from_ms",   "until_ms",    "re",
					      "nodes",     "model",       "wipes",
					      "agreement", "handover_ms", "wipe_ms"};
	w->until_ms = engine_now(d->engine);
	w->from_ms = w->until_ms - INT64_C(7) * DAY_MS;
	w->from_ms = w->from_ms > 0 ? w->from_ms : 0;
	w->has_model = json_is_string(json_object_get(j, "model"));
	w->has_agreement = json_is_object(json_object_get(j, "agreement"));
	return parse_only(q, j, members, PHX_ARRAY_SIZE(members)) &&
		parse_number(q, j, "from_ms", 0, INT64_MAX, &w->from_ms) &&
		parse_number(q, j, "until_ms", 0, INT64_MAX, &w->until_ms) &&
		TAKE(q, j, "re", w->re) &&
		parse_number(q, j, "nodes", -1000000, 1000000, &w->nodes) &&
		parse_enum(q, j, "model", &phx_policy_names, &w->model) &&
		parse_bool(q, j, "wipes", &w->wipes) &&
		parse_delay(q, j, "handover_ms", PHX_PAST_HANDOVER_MS, &w->handover_ms) &&
		parse_delay(q, j, "wipe_ms", PHX_PAST_WIPE_MS, &w->wipe_ms);
}

/* Of one RE: is it the asker's, or may he know of all? Another's is none. Of an RE of his own from
 * when it was asked for: before, another's may have had that name. */
static int check_re(struct daemon *d, struct phx_http_request *q, struct phx_past_wish *w,
		    struct phx_err *err)
{
	bool all = person_has_all(d, phx_http_peer(q), PHX_RIGHT_re_history);
	struct person person;
	int r = 0;
	person_of(d, phx_http_peer(q), &person);
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_re *re = phx_state_re(s, w->re);
	bool own = re && person_is(&person, re->agreement.owner);
	if (!all && !own)
		r = phx_err_set(err, -ENOENT, "re: there is no RE '%s'", w->re);
	else if (!all && w->from_ms < re->asked_ms)
		w->from_ms = re->asked_ms;
	engine_unlock(d->engine);
	return r;
}

static int check_rights(struct daemon *d, struct phx_http_request *q, struct phx_past_wish *w,
			struct phx_err *err)
{
	if (w->re[0])
		return check_re(d, q, w, err);
	return person_has_all(d, phx_http_peer(q), PHX_RIGHT_journal)
		? 0
		: phx_err_set(err, -EPERM,
			      "what the whole cluster would have been is for who may search its "
			      "journal; re: an RE of yours");
}

/* The agreement as one that is asked for: it has to be right by itself. */
static bool take_agreement(struct daemon *d, struct phx_http_request *q, const json_t *j,
			   struct phx_past_wish *w)
{
	return !w->has_agreement || agreement_parse(d, q, j, &w->agreement);
}

/* As the one who asked is told from others: by identity. */
static void name_of(struct phx_http_request *q, char ret[PHX_IDENTITY_MAX])
{
	if (!person_identity(phx_http_peer(q), ret))
		person_name(phx_http_peer(q), ret, PHX_IDENTITY_MAX);
}

static void wish_fini(struct phx_past_wish *w)
{
	phx_record_fini(&phx_past_wish_record, w);
}

void api_whatif_ask(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	PHX_AUTO(wish_fini) struct phx_past_wish w = {0};
	PHX_AUTO_JSON json_t *j = body_json(q);
	char person[PHX_IDENTITY_MAX] = "";
	struct phx_err err = {0};
	uint64_t id = 0;
	if (!j || !parse_wish(d, q, j, &w) || !take_agreement(d, q, j, &w))
		return;
	name_of(q, person);
	int r = check_rights(d, q, &w, &err);
	r = r ? r : phx_past_check(&w, &err);
	r = r ? r : whatif_ask(d->whatif, person, &w, &id, &err);
	char *answer = r == 0 ? whatif_text(d->whatif, person, id) : NULL;
	if (answer)
		phx_http_reply_json_text(q, 200, answer);
	else
		phx_http_reply_error(q, r ? r : -ENOMEM, err.text);
}

/* ---- what is answered ---- */

void api_whatifs(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char person[PHX_IDENTITY_MAX] = "";
	name_of(q, person);
	json_t *list = whatif_list(d->whatif, person);
	PHX_AUTO_JSON json_t *j = list ? json_pack("{s:o}", "questions", list) : NULL;
	if (j)
		phx_http_reply_json(q, 200, j);
	else
		phx_http_reply_error(q, -ENOMEM, "out of memory");
}

static uint64_t id_in(struct phx_http_request *q)
{
	uint64_t id = 0;
	if (phx_u64_parse(phx_http_param(q, 0), 1, INT64_MAX, &id) < 0)
		return 0;
	return id;
}

static const char not_there[] = "there is no such question of yours: the head keeps the last ones "
				"until it is started again";

void api_whatif(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char person[PHX_IDENTITY_MAX] = "";
	name_of(q, person);
	char *text = whatif_text(d->whatif, person, id_in(q));
	if (text)
		phx_http_reply_json_text(q, 200, text);
	else
		phx_http_reply_error(q, -ENOENT, not_there);
}

void api_whatif_cancel(struct phx_http_request *q, void *arg)
{
	struct daemon *d = arg;
	char person[PHX_IDENTITY_MAX] = "";
	name_of(q, person);
	int r = whatif_cancel(d->whatif, person, id_in(q));
	PHX_AUTO_JSON json_t *j = json_object();
	if (r == 0)
		phx_http_reply_json(q, 200, j);
	else
		phx_http_reply_error(q, r, not_there);
}
