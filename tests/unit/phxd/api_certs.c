/* Certificates that are revoked and reported (cmd/phxd/api_certs.c): what of a request is refused,
 * and that rights are looked at again where a certificate is revoked, and only there. */
#include "fake/request.h"
#include "fake/submitted.h"

#include "phxd/api_certs.c" /* parts of a program, not of the library */
#include "phxd/parse.c"

static struct daemon head;
static unsigned n_changed;
static char error[FAKE_TEXT];

json_t *body_json(struct phx_http_request *q)
{
	return json_loads(q->body, 0, NULL);
}

void person_name(const struct phx_http_peer *peer, char *ret, size_t ret_size)
{
	(void)peer;
	snprintf(ret, ret_size, "uid:0");
}

void access_changed(struct daemon *d)
{
	assert_ptr_equal(d, &head);
	assert_false(fake_engine_held);
	n_changed++;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	n_changed = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return 0;
}

static int posts(phx_http_handler handler, const char *serial, const char *body)
{
	FAKE_REQUEST q = {.params = {serial}, .body = body};
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	return q.code;
}

static void who_is_revoked_is_let_in_no_more(void **state)
{
	(void)state;
	fake_changed = true;
	assert_int_equal(posts(api_cert_revoke, "0a:0b", "{\"name\":\"bob\",\"reason\":\"left\"}"),
			 200);
	assert_int_equal(n_changed, 1);
	const struct phx_event *ev = fake_event(0);
	assert_int_equal(ev->kind, PHX_EV_cert_revoke);
	assert_string_equal(ev->cert_revoke.serial, "0a:0b");
	assert_string_equal(ev->cert_revoke.name, "bob");
	assert_string_equal(ev->text, "left");
	assert_string_equal(ev->by, "uid:0");
	/* again: it was revoked before */
	fake_changed = false;
	assert_int_equal(posts(api_cert_revoke, "0a:0b", "{}"), 200);
	fake_submit_result = -ENOSPC;
	assert_int_equal(posts(api_cert_revoke, "0a:0b", "{}"), -ENOSPC);
	assert_int_equal(n_changed, 1);
}

/* A part of a number would be another certificate's. */
static void a_number_is_not_cut(void **state)
{
	char serial[PHX_SERIAL_MAX + 1];
	(void)state;
	memset(serial, 'a', sizeof(serial) - 1);
	serial[PHX_SERIAL_MAX] = '\0';
	assert_int_equal(posts(api_cert_revoke, serial, "{}"), -EINVAL);
	assert_string_equal(error, "serial: that is longer than the number of a certificate");
	assert_int_equal(fake_events.n, 0);
	serial[PHX_SERIAL_MAX - 1] = '\0';
	assert_int_equal(posts(api_cert_revoke, serial, "{}"), 200);
	assert_string_equal(fake_event(0)->cert_revoke.serial, serial);
}

static void members_are_known_and_fit(void **state)
{
	char body[1200], most[600];
	(void)state;
	assert_int_equal(posts(api_cert_revoke, "0a", "{\"serial\":\"0b\"}"), -EINVAL);
	assert_non_null(strstr(error, "serial"));
	assert_int_equal(posts(api_cert_revoke, "0a", "{\"name\":7}"), -EINVAL);
	assert_non_null(strstr(error, "name"));
	memset(most, 'x', sizeof(most) - 1);
	most[sizeof(most) - 1] = '\0';
	snprintf(body, sizeof(body), "{\"reason\":\"%s\"}", most);
	assert_int_equal(posts(api_cert_revoke, "0a", body), -EINVAL);
	assert_non_null(strstr(error, "reason"));
	assert_int_equal(posts(api_cert_issued, "", "{\"key\":\"secret\"}"), -EINVAL);
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(n_changed, 0);
}

static void what_was_issued_is_journalled_with_its_number(void **state)
{
	(void)state;
	assert_int_equal(posts(api_cert_issued, "",
			       "{\"serial\":\"0a:0b\",\"name\":\"bob\",\"kind\":\"user\"}"),
			 200);
	assert_int_equal(fake_event(0)->kind, PHX_EV_notice);
	assert_string_equal(fake_event(0)->text, "certificate 0a:0b was issued to bob (user)");
	assert_string_equal(fake_event(0)->by, "uid:0");
	fake_submit_result = -EROFS;
	assert_int_equal(posts(api_cert_issued, "", "{}"), -EROFS);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_is_revoked_is_let_in_no_more),
		T(a_number_is_not_cut),
		T(members_are_known_and_fit),
		T(what_was_issued_is_journalled_with_its_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
