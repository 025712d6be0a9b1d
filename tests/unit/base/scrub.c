/* Secrets in texts that leave the site: what looks like one goes, what does not stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/scrub.h"

static void is(const char *text, const char *wanted)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_scrub_text(text, &b);
	assert_string_equal(b.data, wanted);
}

static void secrets_go(void **state)
{
	(void)state;
	is("a -----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\nb", "a (left out)\nb");
	is("-----BEGIN EC PRIVATE KEY-----\nAAAA", "(left out)");
	is("root:$6$salt$hashhashhash/.:1", "root:(left out):1");
	is("$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7 x",
	   "(left out) x");
	is("http://admin:hunter2@bmc.example/redfish",
	   "http://admin:(left out)@bmc.example/redfish");
	is("password=hunter2 x", "password=(left out) x");
	is("BMC_PASSWORD = \"hunter 2\";", "BMC_PASSWORD = \"(left out)\";");
	is("{\"ipmi-password\": \"hunter2\", \"a\": 1}",
	   "{\"ipmi-password\": \"(left out)\", \"a\": 1}");
	is("console=ttyS0 phx.start=12.abcdef quiet", "console=ttyS0 phx.start=(left out) quiet");
	is("Authorization: Basic cm9vdDo=\nnext", "Authorization: (left out)\nnext");
	is("X-Auth-Token: abc\n", "X-Auth-Token: (left out)\n");
	is("snmp community: 'public'", "snmp community: '(left out)'");
}

static void the_rest_stays(void **state)
{
	static const char *const same[] = {
		"",
		"step 12 image: no space left on device",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"http://10.0.0.1:8080/images/deploy/1/vmlinuz a@b",
		"the password file is missing",
		"price $6 and $x$",
		"key_id = \"n1-3\"",
		"grüße – \xe2\x82\xac",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(same); i++)
		is(same[i], same[i]);
}

static void members_go_by_their_names(void **state)
{
	(void)state;
	json_t *j =
		json_loads("{\"name\":\"n1\",\"bmc\":{\"user\":\"root\",\"password\":\"hunter2\","
			   "\"password_file\":\"\"},\"tokens\":[\"a\",\"b\"],\"has_token\":true,"
			   "\"args\":[\"quiet\",\"phx.start=1.aa\"],\"hash\":\"x\",\"n\":1.5,"
			   "\"key_id\":\"n1-3\",\"secret\":{\"a\":1}}",
			   0, NULL);
	json_t *clean = phx_scrub_json(j);
	json_t *wanted = json_loads(
		"{\"name\":\"n1\",\"bmc\":{\"user\":\"root\",\"password\":\"(left out)\","
		"\"password_file\":\"\"},\"tokens\":\"(left out)\",\"has_token\":true,"
		"\"args\":[\"quiet\",\"phx.start=(left out)\"],\"hash\":\"(left out)\","
		"\"n\":1.5,\"key_id\":\"n1-3\",\"secret\":\"(left out)\"}",
		0, NULL);
	assert_non_null(wanted);
	assert_true(json_equal(clean, wanted));
	json_decref(j);
	json_decref(clean);
	json_decref(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_go),
		cmocka_unit_test(the_rest_stays),
		cmocka_unit_test(members_go_by_their_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
