/* Jobs that users submit: the first byte says who asks and whether the disk is full, the rest is
 * the body. All behind the handler is fake but the core: each request is answered once; what
 * reaches the core is an event that the journal gives back as it was, of a job of who asked, and a
 * job that was taken is there.
 * Parsers: cmd/phxd/api_submit.c */
#include "fuzz/fuzz.h"
#include "core/core.h"

/* parts of a program, not of the library */
#include "phxd/api_submit.c"
#include "phxd/parse.c"

#include "phxd/beat.h"

enum { ADMIN = 1, NOBODY = 2, DISK_FULL = 4 }; /* of the first byte */

static const struct phx_http_peer peer = {.via = PHX_HTTP_UNIX, .uid = 1000};

#include "fuzz/request.h"

/* ---- the request ---- */

void phx_http_reply_json(struct phx_http_request *q, int status, const json_t *j)
{
	(void)q;
	int64_t id = phx_json_int(j, "id", 0), last = phx_json_int(j, "last", id);
	fuzz_never(status != 200 || id <= 0 || last < id);
	answers++;
}

/* ---- who asks ---- */

bool person_has_all(struct daemon *d, const struct phx_http_peer *p, enum phx_right right)
{
	(void)d, (void)p;
	fuzz_never(right != PHX_RIGHT_job_submit);
	return mood & ADMIN;
}

bool person_identity(const struct phx_http_peer *p, char ret[PHX_IDENTITY_MAX])
{
	(void)p;
	strcpy(ret, "unix:alice");
	return true;
}

void person_name(const struct phx_http_peer *p, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "uid:%u", (unsigned)p->uid);
}

bool person_works_as(struct daemon *d, struct phx_http_request *q, const char *asked,
		     struct person_login *ret)
{
	(void)d;
	fuzz_never(asked && !(mood & ADMIN));
	if (mood & NOBODY) {
		phx_http_reply_error(q, -EINVAL, "works as no user");
		return false;
	}
	*ret = (struct person_login){.uid = 1000, .gid = 1000};
	return PHX_STR_SET(ret->name, "alice") == 0;
}

void member_init(const struct person_login *login, struct member *ret)
{
	(void)login;
	memset(ret, 0, sizeof(*ret));
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	(void)m, (void)a;
	*ret_group = "users";
	return true;
}

void member_fini(struct member *m)
{
	(void)m;
}

/* ---- the core ---- */

int engine_submit(struct engine *e, struct phx_event *ev, struct phx_outcome *ret,
		  struct phx_err *err)
{
	(void)e;
	check_journal(ev);
	fuzz_never(strcmp(ev->job_submit.user, "alice") || ev->job_submit.uid != 1000);
	if (mood & DISK_FULL)
		return phx_err_set(err, -ENOSPC, "the disk is full");
	fuzz_never(phx_state_init(&state) < 0);
	int r = phx_core_apply(&state, ev, ret, err);
	fuzz_never(r == 0 && !phx_state_job(&state, ret->job));
	fuzz_never(r < 0 && state.jobs.n);
	phx_state_fini(&state);
	memset(&state, 0, sizeof(state));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct daemon head;
	if (!n)
		return 0;
	PHX_AUTO_FREE char *text = fuzz_text(data + 1, n - 1);
	body = text;
	answers = 0;
	mood = data[0] % 8;
	api_job_submit(NULL, &head);
	fuzz_never(answers != 1);
	return 0;
}
