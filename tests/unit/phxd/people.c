/* Who asks, and what he may do (cmd/phxd/people.c): roles from groups, certificates and grants,
 * and what takes them away: a revocation, a CA that was retired, a session that ended. Users,
 * groups and sessions are fakes; the state is a real one. */
#include "fake/request.h"
#include "fake/engine.h"
#include "unit/core/world.h"

#include "base/account.h"
#include "state/named.h"

/* ---- the users of this machine ---- */

static const struct fake_user {
	const char *name;
	uid_t uid;
	const char *groups[3];
} fake_users[] = {
	{"root", 0, {"root"}},        {"alice", 1000, {"people", "ops"}}, {"bob", 1001, {"people"}},
	{"carl", 1002, {"auditors"}}, {"gone", 1003, {"people"}},
};
static bool fake_gone; /* the user "gone" is */
static const char *const fake_groups[] = {"root", "people", "ops", "auditors"};

static const struct fake_user *fake_user_of(const char *name, uid_t uid)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fake_users); i++) {
		const struct fake_user *u = &fake_users[i];
		if ((name ? !strcmp(u->name, name) : u->uid == uid) &&
		    !(fake_gone && u->uid == 1003))
			return u;
	}
	return NULL;
}
static gid_t fake_gid(const char *group)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fake_groups); i++)
		if (!strcmp(fake_groups[i], group))
			return (gid_t)(i * 10);
	return (gid_t)-1;
}
static bool fake_is_in(const struct fake_user *u, gid_t gid)
{
	for (int i = 0; u && i < 3 && u->groups[i]; i++)
		if (fake_gid(u->groups[i]) == gid)
			return true;
	return false;
}
static int fake_passwd(const struct fake_user *u, struct passwd *ret, char **ret_texts)
{
	*ret_texts = u ? strdup(u->name) : NULL;
	if (u)
		*ret = (struct passwd){
			.pw_name = *ret_texts, .pw_uid = u->uid, .pw_gid = fake_gid(u->groups[0])};
	return u ? 0 : -ENOENT;
}
static int fake_user_named(const char *name, struct passwd *ret, char **ret_texts)
{
	return fake_passwd(fake_user_of(name, 0), ret, ret_texts);
}
static int fake_user_numbered(uid_t uid, struct passwd *ret, char **ret_texts)
{
	return fake_passwd(fake_user_of(NULL, uid), ret, ret_texts);
}
static int fake_group_named(const char *name, gid_t *ret)
{
	*ret = fake_gid(name);
	return *ret == (gid_t)-1 ? -ENOENT : 0;
}
static bool fake_user_is_member(uid_t uid, gid_t gid)
{
	return fake_is_in(fake_user_of(NULL, uid), gid);
}
static int fake_user_groups(const char *name, gid_t gid, struct phx_list *ret)
{
	const struct fake_user *u = fake_user_of(name, 0);
	(void)gid;
	for (int i = 0; u && i < 3 && u->groups[i]; i++)
		PHX_STR_SET(((struct phx_word *)phx_list_push(ret, sizeof(struct phx_word)))->text,
			    u->groups[i]);
	return 0;
}

static bool fake_session_is, fake_ca_is;

static bool fake_sessions_has(struct phx_http_sessions *s, uint64_t id, int64_t now_ms)
{
	(void)s;
	assert_true(now_ms > 0);
	return id == 7 && fake_session_is;
}
static bool fake_pki_has_ca(const struct phx_pki *p, const char *id)
{
	(void)p;
	return fake_ca_is && !strcmp(id, "ca-1");
}

#define phx_user_named fake_user_named
#define phx_user_numbered fake_user_numbered
#define phx_group_named fake_group_named
#define phx_user_is_member fake_user_is_member
#define phx_user_groups fake_user_groups
#define phx_http_sessions_has fake_sessions_has
#define phx_pki_has_ca fake_pki_has_ca
#include "fake/starts.h"
#include "phxd/people.c" /* a part of a program, not of the library */

static struct world *w;
static struct daemon d;
static unsigned n_told;
static char told[200];

void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s;
	fake_engine_is_free();
	n_told++;
	snprintf(told, sizeof(told), "%s", f->text);
}

static int setup(void **state)
{
	world_setup((void **)&w);
	*state = w;
	fake_state = &w->s;
	d = (struct daemon){0};
	PHX_STR_SET(d.cfg.operator_group, "ops");
	PHX_STR_SET(d.cfg.auditor_group, "auditors");
	fake_session_is = fake_ca_is = true;
	fake_gone = false;
	n_told = 0;
	return 0;
}

static int teardown(void **state)
{
	fake_engine_is_free();
	return world_teardown(state);
}

/* ---- who asks ---- */

static struct phx_http_peer user(uid_t uid)
{
	return (struct phx_http_peer){.via = PHX_HTTP_UNIX, .uid = uid, .gid = 9999};
}

static struct phx_http_peer cert(enum phx_cert_kind kind, const char *name)
{
	struct phx_http_peer p = {
		.via = PHX_HTTP_TLS, .uid = (uid_t)-1, .has_cert = true, .address = "10.0.0.9"};
	p.cert.kind = kind;
	PHX_STR_SET(p.cert.name, name);
	PHX_STR_SET(p.cert.serial, "4a01");
	PHX_STR_SET(p.cert.ca, "ca-1");
	PHX_STR_SET(p.cert.fingerprint, "key-n1");
	return p;
}

static struct phx_http_peer browser(uid_t uid)
{
	return (struct phx_http_peer){
		.via = PHX_HTTP_TLS, .uid = uid, .gid = 9999, .has_session = true, .session = 7};
}

static const struct phx_http_peer stranger = {
	.via = PHX_HTTP_TLS, .uid = (uid_t)-1, .address = "10.0.0.9"};

/* By their first letters: a(dmin), o(perator), A(uditor), p(rovider), u(ser), n(ode). */
static const char *roles(struct phx_http_peer p)
{
	static char text[8];
	unsigned is = person_roles(&d, &p);
	char *to = text;
	for (int i = 0; i < PHX_WHO_COUNT_; i++)
		if (is & 1u << i)
			*to++ = "aoApun"[i];
	*to = '\0';
	return text;
}

static void grant(const char *identity, int role, const char *login)
{
	struct phx_grant *g = phx_list_push(&w->s.grants, sizeof(*g));
	PHX_STR_SET(g->identity, identity);
	PHX_STR_SET(g->login, login);
	g->role = role;
}

static void revoked(const char *serial)
{
	struct phx_revoked *r = phx_list_push(&w->s.revoked, sizeof(*r));
	PHX_STR_SET(r->serial, serial);
}

/* ---- roles ---- */

static void groups_give_roles(void **state)
{
	(void)state;
	assert_string_equal(roles(user(0)), "au");
	assert_string_equal(roles(user(1000)), "ou");
	assert_string_equal(roles(user(1001)), "u");
	assert_string_equal(roles(user(1002)), "Au");
	/* his own group, by which he came, counts as well */
	struct phx_http_peer p = user(1001);
	p.gid = fake_gid("auditors");
	assert_string_equal(roles(p), "Au");
	/* a group that is not configured, or is not there, gives none */
	PHX_STR_SET(d.cfg.operator_group, "");
	PHX_STR_SET(d.cfg.auditor_group, "none");
	assert_string_equal(roles(user(1000)), "u");
	assert_string_equal(roles(user(1002)), "u");
	PHX_STR_SET(d.cfg.socket_group, "people");
	PHX_STR_SET(d.cfg.service_group, "ops");
	assert_string_equal(roles(user(1000)), "apu");
}

static void certificates_give_the_roles_of_their_kind(void **state)
{
	(void)state;
	assert_string_equal(roles(cert(PHX_CERT_PROVIDER, "campus")), "au");
	assert_string_equal(roles(cert(PHX_CERT_SERVICE_PROVIDER, "hpc")), "pu");
	assert_string_equal(roles(cert(PHX_CERT_USER, "dora")), "u");
	assert_string_equal(roles(cert(PHX_CERT_NODE, "n1")), "n");
	assert_string_equal(roles(cert(PHX_CERT_SERVER, "head")), "");
	assert_string_equal(roles(stranger), "");
	/* a certificate's name is no user's: what of the machine's groups he has is nothing */
	assert_string_equal(roles(cert(PHX_CERT_USER, "root")), "u");
}

static void a_revoked_certificate_gives_nothing(void **state)
{
	(void)state;
	grant("cert:campus", PHX_WHO_OPERATOR, "");
	assert_string_equal(roles(cert(PHX_CERT_PROVIDER, "campus")), "aou");
	revoked("4a02");
	assert_string_equal(roles(cert(PHX_CERT_PROVIDER, "campus")), "aou");
	revoked("4a01");
	assert_string_equal(roles(cert(PHX_CERT_PROVIDER, "campus")), "");
	/* nodes are known by their keys, not by numbers */
	assert_string_equal(roles(cert(PHX_CERT_NODE, "n1")), "n");
}

static void a_certificate_of_a_retired_ca_gives_nothing(void **state)
{
	(void)state;
	fake_ca_is = false;
	assert_string_equal(roles(cert(PHX_CERT_PROVIDER, "campus")), "");
	assert_string_equal(roles(cert(PHX_CERT_NODE, "n1")), "");
	assert_string_equal(roles(user(1000)), "ou");
}

static void a_session_gives_what_its_user_has_until_it_ends(void **state)
{
	(void)state;
	assert_string_equal(roles(browser(1000)), "ou");
	struct phx_http_peer other = browser(1000);
	other.session = 8;
	assert_string_equal(roles(other), "");
	fake_session_is = false;
	assert_string_equal(roles(browser(1000)), "");
	assert_string_equal(roles(browser(0)), "");
	assert_string_equal(roles(user(1000)), "ou");
}

static void the_session_of_a_user_who_was_removed_gives_nothing(void **state)
{
	(void)state;
	assert_string_equal(roles(browser(1003)), "u");
	fake_gone = true;
	assert_string_equal(roles(browser(1003)), "");
}

static void grants_add_to_whom_they_name(void **state)
{
	(void)state;
	grant("unix:bob", PHX_WHO_AUDITOR, "");
	grant("cert:dora", PHX_WHO_PROVIDER, "");
	grant("node:n1", PHX_WHO_ADMIN, "");
	grant("cert:eve", PHX_WHO_ADMIN, "alice"); /* a login, and no role */
	assert_string_equal(roles(user(1001)), "Au");
	assert_string_equal(roles(browser(1001)), "Au");
	assert_string_equal(roles(user(1000)), "ou");
	assert_string_equal(roles(cert(PHX_CERT_USER, "dora")), "pu");
	assert_string_equal(roles(cert(PHX_CERT_USER, "bob")), "u");
	assert_string_equal(roles(cert(PHX_CERT_USER, "eve")), "u");
	assert_string_equal(roles(cert(PHX_CERT_NODE, "n1")), "n"); /* a node is nobody */
}

static void the_scope_of_a_right_is_that_of_the_roles(void **state)
{
	struct phx_http_peer admin = user(0), provider = cert(PHX_CERT_SERVICE_PROVIDER, "hpc"),
			     bob = user(1001);
	(void)state;
	assert_true(person_is_admin(&d, &admin));
	assert_false(person_is_admin(&d, &provider));
	assert_true(person_has_all(&d, &admin, PHX_RIGHT_logs));
	assert_false(person_has_all(&d, &provider, PHX_RIGHT_logs));
	assert_int_equal(person_scope(&d, &provider, PHX_RIGHT_logs), PHX_SCOPE_OWN);
	assert_int_equal(person_scope(&d, &bob, PHX_RIGHT_logs), PHX_SCOPE_NONE);
}

/* ---- identities ---- */

static void everybody_has_one_name_and_one_identity(void **state)
{
	const struct {
		struct phx_http_peer peer;
		const char *name, *identity;
	} rows[] = {
		{user(1000), "uid:1000", "unix:alice"},
		{user(4711), "uid:4711", ""}, /* without a name */
		{browser(1001), "uid:1001", "unix:bob"},
		{cert(PHX_CERT_USER, "alice"), "user:alice", "cert:alice"},
		{cert(PHX_CERT_PROVIDER, "campus"), "provider:campus", "cert:campus"},
		{cert(PHX_CERT_NODE, "n1"), "node:n1", "node:n1"},
		{stranger, "10.0.0.9", ""},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char name[PHX_NAME_MAX], identity[PHX_IDENTITY_MAX] = "?";
		person_name(&rows[i].peer, name, sizeof(name));
		assert_string_equal(name, rows[i].name);
		assert_int_equal(person_identity(&rows[i].peer, identity),
				 rows[i].identity[0] != 0);
		assert_string_equal(identity, rows[i].identity);
	}
}

static void one_name_of_two_kinds_is_two_people(void **state)
{
	struct phx_http_peer unix_alice = user(1000), cert_alice = cert(PHX_CERT_USER, "alice");
	struct person p;
	(void)state;
	person_of(&d, &unix_alice, &p);
	assert_true(person_is(&p, "unix:alice"));
	assert_false(person_is(&p, "cert:alice"));
	assert_false(person_is(&p, "alice"));
	assert_false(person_is(&p, ""));
	person_of(&d, &cert_alice, &p);
	assert_string_equal(p.login, "");
	assert_true(person_is(&p, "cert:alice"));
	assert_false(person_is(&p, "unix:alice"));
	assert_false(person_is(&p, "unix:"));
	/* until it is granted to work as her */
	grant("cert:alice", 0, "alice");
	person_of(&d, &cert_alice, &p);
	assert_true(person_is(&p, "unix:alice"));
	assert_false(person_is(&p, "unix:bob"));
}

static void who_is_nobody_owns_nothing(void **state)
{
	struct phx_http_peer nameless = user(4711);
	struct person p;
	(void)state;
	person_of(&d, &nameless, &p);
	assert_false(person_is(&p, ""));
	assert_false(person_is(&p, "unix:"));
	person_of(&d, &stranger, &p);
	assert_false(person_is(&p, ""));
}

static void an_owner_holds_the_nodes_of_his_re(void **state)
{
	struct phx_node n = {.pool = "hpc"};
	struct person alice = {"unix:alice", "alice"}, bob = {"unix:bob", "bob"};
	(void)state;
	struct phx_re *re = phx_list_push(&w->s.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	PHX_STR_SET(re->agreement.owner, "unix:alice");
	phx_named_changed(&w->s);
	re->state = PHX_RE_STATE_NONE; /* only asked for: it has no nodes */
	assert_false(person_holds(&w->s, &alice, &n));
	re->state = PHX_RE_STATE_NONE + 1;
	assert_true(person_holds(&w->s, &alice, &n));
	assert_false(person_holds(&w->s, &bob, &n));
	PHX_STR_SET(n.pool, PHX_POOL_FREE);
	assert_false(person_holds(&w->s, &alice, &n));
}

/* ---- as whom he works ---- */

static int works_as(struct phx_http_peer peer, const char *name, struct person_login *ret,
		    const char *says)
{
	FAKE_REQUEST q = {.peer = peer};
	bool r = person_works_as(&d, &q, name, ret);
	assert_int_equal(r, q.code == 0);
	if (!r && !strstr(q.text, says))
		fail_msg("%s", q.text);
	return q.code;
}

static void who_works_on_the_head_is_a_user_of_it(void **state)
{
	struct person_login login;
	struct phx_http_peer dora = cert(PHX_CERT_USER, "dora");
	(void)state;
	assert_int_equal(works_as(user(1000), NULL, &login, ""), 0);
	assert_string_equal(login.name, "alice");
	assert_int_equal(login.uid, 1000);
	assert_int_equal(works_as(user(0), "bob", &login, ""), 0);
	assert_int_equal(login.uid, 1001);
	assert_int_equal(works_as(user(0), "nobody-else", &login, "not known on the head"),
			 -EINVAL);
	assert_int_equal(works_as(user(0), "", &login, "not known on the head"), -EINVAL);
	assert_int_equal(works_as(user(4711), NULL, &login, "not known on the head"), -EINVAL);
	assert_int_equal(works_as(dora, NULL, &login, "phx access grant cert:dora login:USER"),
			 -EINVAL);
	grant("cert:dora", 0, "bob");
	assert_int_equal(works_as(dora, NULL, &login, ""), 0);
	assert_string_equal(login.name, "bob");
	/* who has left this machine since */
	grant("cert:eve", 0, "gone");
	fake_gone = true;
	assert_int_equal(works_as(cert(PHX_CERT_USER, "eve"), NULL, &login, "works as no user"),
			 -EINVAL);
}

/* ---- members ---- */

static const char *member_by(struct phx_http_peer peer, enum phx_right right,
			     const struct phx_agreement *a)
{
	FAKE_REQUEST q = {.peer = peer};
	struct member m;
	const char *group = "?";
	member_of(&d, &q, right, &m);
	bool is = member_is(&m, a, &group);
	static char by[PHX_NAME_MAX];
	snprintf(by, sizeof(by), "%s", is ? group : "-");
	assert_int_equal(is, group != NULL);
	member_fini(&m);
	return by;
}

static void members_are_named_or_of_a_named_group(void **state)
{
	struct phx_agreement a = {.owner = "unix:carl", .users = "unix:bob cert:dora"};
	(void)state;
	PHX_STR_SET(a.groups, "ops");
	assert_string_equal(member_by(user(1001), PHX_RIGHT_job_submit, &a), "");
	assert_string_equal(member_by(user(1002), PHX_RIGHT_job_submit, &a), "");
	assert_string_equal(member_by(user(1000), PHX_RIGHT_job_submit, &a), "ops");
	assert_string_equal(member_by(user(1003), PHX_RIGHT_job_submit, &a), "-");
	assert_string_equal(member_by(cert(PHX_CERT_USER, "dora"), PHX_RIGHT_job_submit, &a), "");
	assert_string_equal(member_by(cert(PHX_CERT_USER, "bob"), PHX_RIGHT_job_submit, &a), "-");
	/* a certificate is of the groups of the user as whom it works */
	grant("cert:eve", 0, "alice");
	assert_string_equal(member_by(cert(PHX_CERT_USER, "eve"), PHX_RIGHT_job_submit, &a), "ops");
}

static void a_right_that_members_do_not_have_makes_none(void **state)
{
	struct phx_agreement a = {.owner = "unix:carl", .users = "unix:bob"};
	(void)state;
	assert_int_equal(phx_right_member(PHX_RIGHT_logs), PHX_SCOPE_NONE);
	assert_string_equal(member_by(user(1001), PHX_RIGHT_logs, &a), "-");
}

/* ---- refusals ---- */

static void requires(struct phx_http_peer peer, enum phx_right right, const char *says)
{
	FAKE_REQUEST q = {.peer = peer};
	assert_int_equal(person_require(&d, &q, right), !says);
	assert_int_equal(q.code, says ? -EPERM : 0);
	if (says && !strstr(q.text, says))
		fail_msg("%s", q.text);
}

static void who_has_no_right_is_told_who_has(void **state)
{
	(void)state;
	requires(user(0), PHX_RIGHT_people, NULL);
	requires(user(1001), PHX_RIGHT_look, NULL);
	requires(stranger, PHX_RIGHT_public, NULL);
	assert_int_equal(n_told, 0);
	requires(user(1001), PHX_RIGHT_people,
		 "the resource provider may do this, and you are a user");
	assert_string_equal(told, "uid:1001 is refused: no right people");
	requires(user(1002), PHX_RIGHT_nodes, "and you are an auditor");
	requires(cert(PHX_CERT_NODE, "n1"), PHX_RIGHT_look,
		 "a user may do this, and you are a node");
	requires(user(0), PHX_RIGHT_agent, "a node may do this");
	assert_int_equal(n_told, 4);
	/* of strangers anybody could make as many as he likes */
	requires(stranger, PHX_RIGHT_look, "and you are nobody");
	assert_int_equal(n_told, 4);
}

static void why_a_certificate_does_not_count_is_told(void **state)
{
	(void)state;
	revoked("4a01");
	requires(cert(PHX_CERT_PROVIDER, "campus"), PHX_RIGHT_look,
		 "your certificate 4a01 is revoked");
	fake_ca_is = false;
	requires(cert(PHX_CERT_PROVIDER, "campus"), PHX_RIGHT_look, "was retired");
}

static void only_the_present_key_speaks_for_a_node(void **state)
{
	char name[PHX_NAME_MAX] = "?";
	(void)state;
	world_ready(w, "n1", true);
	FAKE_REQUEST q = {.peer = cert(PHX_CERT_NODE, "n1")};
	assert_true(person_agent(&d, &q, name));
	assert_string_equal(name, "n1");
	FAKE_REQUEST old = {.peer = cert(PHX_CERT_NODE, "n1")};
	PHX_STR_SET(old.peer.cert.fingerprint, "key-n1-of-before");
	assert_false(person_agent(&d, &old, name));
	assert_int_equal(old.code, -EACCES);
	FAKE_REQUEST other = {.peer = cert(PHX_CERT_NODE, "n2")};
	assert_false(person_agent(&d, &other, name));
	assert_int_equal(other.code, -EACCES);
}

/* ---- bodies ---- */

static void a_body_is_one_object_of_bounded_shape(void **state)
{
	char deep[256];
	(void)state;
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	const char *const wrong[] = {"[]", "7", "{\"a\":}", "{\"a\":1,\"a\":2}", "{} x", deep};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		FAKE_REQUEST q = {.body = wrong[i]};
		assert_null(body_json(&q));
		assert_int_equal(q.code, -EINVAL);
		assert_true(q.text[0]);
	}
	FAKE_REQUEST none = {.body = NULL}, one = {.body = "{\"a\":1}"};
	PHX_AUTO_JSON json_t *empty = body_json(&none), *full = body_json(&one);
	assert_int_equal(json_object_size(empty), 0);
	assert_int_equal(phx_json_int(full, "a", 0), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(groups_give_roles),
		T(certificates_give_the_roles_of_their_kind),
		T(a_revoked_certificate_gives_nothing),
		T(a_certificate_of_a_retired_ca_gives_nothing),
		T(a_session_gives_what_its_user_has_until_it_ends),
		T(the_session_of_a_user_who_was_removed_gives_nothing),
		T(grants_add_to_whom_they_name),
		T(the_scope_of_a_right_is_that_of_the_roles),
		T(everybody_has_one_name_and_one_identity),
		T(one_name_of_two_kinds_is_two_people),
		T(who_is_nobody_owns_nothing),
		T(an_owner_holds_the_nodes_of_his_re),
		T(who_works_on_the_head_is_a_user_of_it),
		T(members_are_named_or_of_a_named_group),
		T(a_right_that_members_do_not_have_makes_none),
		T(who_has_no_right_is_told_who_has),
		T(why_a_certificate_does_not_count_is_told),
		T(only_the_present_key_speaks_for_a_node),
		T(a_body_is_one_object_of_bounded_shape),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
