/* RE agreements in both formats: what is read, what is refused and where, and that what is written
 * reads back. */
#include "unit/config/help.h"

#include "batch/batch.h"
#include "config/agreement.h"
#include "config/agreement_internal.h"

static int parse(const char *text, struct phx_agreement *a, struct phx_list *findings,
		 struct phx_err *err)
{
	return phx_agreement_parse(text, strlen(text), "a", "named", a, findings, err);
}

static const struct phx_agreement_finding *finding(const struct phx_list *l, uint32_t i)
{
	assert_true(i < l->n);
	return PHX_LIST_AT(l, struct phx_agreement_finding, i);
}

static const char whole_conf[] =
	"name = \"queue\";\n"
	"owner = \"physics\";\n"
	"users = \"ann, bob\";\n"
	"groups = \"staff\";\n"
	"relationship = \"affiliated\";\n"
	"type = \"parallel_batch_jobs\";\n"
	"granularity = \"node\";\n"
	"role = \"batch-compute\";\n"
	"operating_system = \"debian 12\"; image = \"debian-12\"; image_version = \"3\";\n"
	"coordinated_RE = \"other\"; partner = \"pages\";\n"
	"resource_coordination_model = \"FLB_NUB\";\n"
	"lower_bound_size = 3; upper_bound_size = \"null\";\n"
	"lease = \"30m\"; request_threshold = 1.5; release_threshold = 0.25; elastic_factor = "
	"0.4;\n"
	"scheduler = \"easy\"; no_requeue = true; keep_jobs = true; kill_grace = \"90s\"; "
	"replace_after = \"10m\";\n"
	"setup_policy = \"wipe\"; setup_method = \"crypto\"; setup_moment = \"both\";\n"
	"noop_between_owners = true; start_ahead = true;\n"
	"extensions = { cost_centre = \"A \\\"7\\\" <b> & c\\\\\"; floor = 2; };\n";

static void test_libconfig(void **state)
{
	struct phx_agreement a;
	struct phx_err err = {0};
	(void)state;
	int r = parse(whole_conf, &a, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(a.name, "queue");
	assert_string_equal(a.owner, "physics");
	assert_string_equal(a.operating_system, "debian 12");
	assert_string_equal(a.users, "ann, bob");
	assert_string_equal(a.groups, "staff");
	assert_int_equal(a.relationship, PHX_RE_AFFILIATED);
	assert_int_equal(a.coordination, PHX_RE_COORDINATED_OTHER);
	assert_string_equal(a.partner, "pages");
	assert_int_equal(a.model, PHX_POLICY_flb_nub);
	assert_int_equal(a.lower, 3);
	assert_int_equal(a.upper, 0);
	assert_int_equal(a.lease_s, 1800);
	assert_int_equal(a.u_milli, 1500);
	assert_int_equal(a.v_milli, 250);
	assert_int_equal(a.g_milli, 400);
	assert_int_equal(a.scheduler, PHX_SCHEDULER_easy);
	assert_true(a.no_requeue && a.keep_jobs && a.noop_between_owners && a.start_ahead);
	assert_int_equal(a.kill_grace_s, 90);
	assert_int_equal(a.replace_after_s, 600);
	assert_int_equal(a.setup.mode, PHX_SETUP_WIPE);
	assert_int_equal(a.setup.method, PHX_WIPE_CRYPTO);
	assert_int_equal(a.setup.when, PHX_WHEN_BOTH);
	assert_int_equal(a.extensions.n, 2);
	assert_string_equal(PHX_LIST_AT(&a.extensions, struct phx_re_extension, 0)->value,
			    "A \"7\" <b> & c\\");
	assert_string_equal(PHX_LIST_AT(&a.extensions, struct phx_re_extension, 1)->value, "2");
	phx_record_fini(&phx_agreement_record, &a);
}

/* Fig. 3 of 000, well-formed: text or attribute, blanks around the words, and no more fields than
 * the figure has. */
static void test_figure_well_formed(void **state)
{
	static const char text[] =
		"<RE_agreement>\n"
		"<relationship>business </relationship>\n"
		"<type value=\" parallel_batch_jobs \"></type>\n"
		"<coordinated_RE>Yes</coordinated_RE> <!-- of our own -->\n"
		"<granularity>node </granularity>\n"
		"<resource_coordination_model>FLB_NUB</resource_coordination_model>\n"
		"<lower_bound_size>100</lower_bound_size>\n"
		"<upper_bound_size>null</upper_bound_size>\n"
		"<setup_policy>NOOP</setup_policy>\n"
		"</RE_agreement>\n";
	struct phx_agreement a;
	struct phx_err err = {0};
	(void)state;
	int r = parse(text, &a, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(a.name, "named");
	assert_string_equal(a.role, "batch-compute");
	assert_int_equal(a.relationship, PHX_RE_BUSINESS);
	assert_int_equal(a.coordination, PHX_RE_COORDINATED_OWN);
	assert_int_equal(a.model, PHX_POLICY_flb_nub);
	assert_int_equal(a.lower, 100);
	assert_int_equal(a.upper, 0);
	assert_int_equal(a.setup.mode, PHX_SETUP_NOOP);
	phx_record_fini(&phx_agreement_record, &a);
}

/* As printed, typographic quotes and all: each line is shown as it should be. */
static void test_figure_as_printed(void **state)
{
	static const char text[] = "<RE_agreement>\n"
				   "\n"
				   "<relationship=\"business \"></relationship>\n"
				   "<type=\" parallel_batch_jobs \"></type>\n"
				   "<coordinated_ RE=\"Yes\"\xe2\x80\x9d>\n"
				   "\n"
				   "</coordinated_RE>\n"
				   "\n"
				   "<granularity=\"node \"></granularity>\n"
				   "<resource_coordination_model=\"FLB_NUB\"></\n"
				   "resource_coordination_model>\n"
				   "<lower_bound_size=\"100\"></lower_bound_size>\n"
				   "<upper_bound_size=null></upper_bound_size>\n"
				   "<setup_policy=\"NOOP\xe2\x80\x9d></ setup_policy >\n"
				   "</RE_agreement>\n";
	static const struct {
		uint32_t line;
		const char *right;
	} wanted[] = {
		{3, "<relationship>business</relationship>"},
		{4, "<type>parallel_batch_jobs</type>"},
		{5, "<coordinated_RE>Yes</coordinated_RE>"},
		{9, "<granularity>node</granularity>"},
		{10, "<resource_coordination_model>FLB_NUB</resource_coordination_model>"},
		{12, "<lower_bound_size>100</lower_bound_size>"},
		{13, "<upper_bound_size>null</upper_bound_size>"},
		{14, "<setup_policy>NOOP</setup_policy>"},
	};
	struct phx_agreement a;
	struct phx_err err = {0};
	struct phx_list found;
	(void)state;
	assert_int_equal(parse(text, &a, &found, &err), -EINVAL);
	assert_non_null(strstr(err.text, "a:3: relationship: is written as in the paper's figure"));
	assert_int_equal(found.n, PHX_ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < found.n; i++) {
		assert_int_equal(finding(&found, i)->line, wanted[i].line);
		assert_non_null(strstr(finding(&found, i)->text, wanted[i].right));
	}
	phx_list_fini(&found);
}

static void check_round_trip(const struct phx_agreement *a,
			     int (*write)(const struct phx_agreement *, struct phx_buf *))
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_agreement again;
	struct phx_err err = {0};
	assert_int_equal(write(a, &b), 0);
	int r = parse(b.data, &again, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	assert_true(phx_record_equal(&phx_agreement_record, a, &again));
	phx_record_fini(&phx_agreement_record, &again);
}

static void test_round_trip(void **state)
{
	static const char *const texts[] = {
		whole_conf,
		"type = \"web_service\"; lower_bound_size = 1; window = 1; threshold = 0.5;",
		"type = \"web_service\"; lower_bound_size = 1; address = \"10.0.0.100\"; port = "
		"8080;",
		"resource_coordination_model = \"dr\"; lower_bound_size = 2; upper_bound_size = 9; "
		"obtain_threshold = 1.25;"
		"cycle = 3; release_own = true; obtain_by_idle = true;",
		"lower_bound_size = 3; extensions = { blanks = \"  a  \"; nothing = \"\"; };",
		"lower_bound_size = 3; return_full = true; kill_order = \"largest\";",
		"name = \"x\"; lower_bound_size = 4; upper_bound_size = 4; lease = 0;",
		"lower_bound_size = 4; engine = \"slurm\"; slurm_conf = \"queue\";",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		struct phx_agreement a;
		struct phx_err err = {0};
		int r = parse(texts[i], &a, NULL, &err);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		check_round_trip(&a, phx_agreement_write_conf);
		check_round_trip(&a, phx_agreement_write_xml);
		phx_record_fini(&phx_agreement_record, &a);
	}
}

/* What is not said is two; what an older RE has is written, and not taken for something unsaid. */
static void test_instances(void **state)
{
	static const struct {
		const char *text;
		uint32_t initial;
	} rows[] = {
		{"type = \"web_service\"; coordinated_RE = \"own\"; lower_bound_size = 1;", 2},
		{"type = \"web_service\"; lower_bound_size = 1; initial_instances = 0;", 0},
		{"<RE_agreement><type>web_service</type><lower_bound_size>1</lower_bound_size>"
		 "<initial_instances>3</initial_instances></RE_agreement>",
		 3},
		{"lower_bound_size = 1;", 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_agreement a;
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		assert_int_equal(parse(rows[i].text, &a, NULL, NULL), 0);
		assert_int_equal(a.initial, rows[i].initial);
		check_round_trip(&a, phx_agreement_write_conf);
		check_round_trip(&a, phx_agreement_write_xml);
		assert_int_equal(phx_agreement_write_conf(&a, &b), 0);
		bool web = a.type == PHX_RE_WEB;
		assert_int_equal(strstr(b.data, "initial_instances") != NULL, web);
		phx_record_fini(&phx_agreement_record, &a);
	}
}

/* One mistake each: the line, and words of what is said. */
static void test_refused(void **state)
{
	static const struct {
		const char *text, *place, *words;
	} bad[] = {
		{"\ngranularity = \"virtual machine\";", "a:2: granularity: ", "physical node"},
		{"<RE_agreement>\n<granularity>XEN</granularity></RE_agreement>",
		 "a:2: granularity: ", "nothing is virtualised"},
		{"lower_bound_size = 5;\nupper_bound_size = 4;",
		 "a:2: upper_bound_size: ", "less than lower"},
		{"lower_bound_size = -1;", "a:1: lower_bound_size: ", "whole number"},
		{"lower_bound_size = 1.5;", "a:1: lower_bound_size: ", "whole number"},
		{"upper_bound_size = 0;", "a:1: upper_bound_size: ", "write none"},
		{"resource_coordination_model = \"fbx\";",
		 "a:1: resource_coordination_model: ", "fbx"},
		{"relationship = \"friend\";", "a:1: relationship: ", "friend"},
		{"coordinated_RE = \"maybe\";",
		 "a:1: coordinated_RE: ", "with an RE of the same service provider"},
		{"partner = \"x\";", "a:1: coordinated_RE: ", "not to be coordinated"},
		{"resource_coordination_model = \"flb-nub\";\nrequest_threshold = 0.1;", "",
		 "above request_threshold"},
		{"request_threshold = 1.2345;", "a:1: request_threshold: ", "three decimals"},
		{"lease = \"soon\";", "a:1: lease: ", "must be a time"},
		{"\n\nelastic_factor = 0.7;", "a:3: elastic_factor: ", "not used by this model"},
		{"no_requeue = \"perhaps\";", "a:1: no_requeue: ", "true or false"},
		{"type = \"web_service\";\naddress = \"10.0.0\";", "a:2: address: ", "IPv4"},
		{"address = \"10.0.0.1\";", "a:1: address: ", "web service"},
		{"addresses = \"10.0.0.1\";", "a:1: addresses: ", "web service"},
		{"type = \"web_service\";\naddresses = \"10.0.0.1 10.0.0\";",
		 "a:2: addresses: ", "must be IPv4"},
		{"type = \"web_service\";\naddresses = \"10.0.0.1 10.0.0.2, 10.0.0.1\";",
		 "a:2: addresses: ", "twice"},
		{"type = \"web_service\";\naddresses = \"1.0.0.1 1.0.0.2 1.0.0.3 1.0.0.4 1.0.0.5 "
		 "1.0.0.6 1.0.0.7 1.0.0.8 1.0.0.9\";",
		 "a:2: addresses: ", "more than 8"},
		{"type = \"web_service\"; address = \"10.0.0.1\";\naddresses = \"10.0.0.2\";",
		 "a:2: addresses: ", "beside address"},
		{"engine = \"pbs\";", "a:1: engine: ", "builtin, slurm"},
		{"engine = \"slurm\";\nscheduler = \"easy\";",
		 "a:2: scheduler: ", "slurm.conf says it"},
		{"engine = \"slurm\"; slurm_conf = \"/home/x/slurm.conf\";",
		 "a:1: slurm_conf: ", "write slurm_conf = \"NAME\""},
		{"engine = \"slurm\"; slurm_conf = \"a/b\";",
		 "a:1: slurm_conf: ", "must be a name"},
		{"slurm_conf = \"\";", "a:1: slurm_conf: ", "characters"},
		{"lower_bound = 3;", "a:1: lower_bound: ", "is no field of an agreement"},
		{"setup_policy = \"wipe\";\nsetup_method = \"burn\";",
		 "a:2: setup_method: ", "burn"},
		{"lower_bound_size = 1; setup_method = \"crypto\";",
		 "a:1: setup_method: ", "setup_policy is noop"},
		{"lower_bound_size = 1;\nsetup_policy = \"noop\";\nsetup_moment = \"both\";",
		 "a:3: setup_moment: ", "setup_policy is noop"},
		{"", "a:1: lower_bound_size: ", "is missing"},
		{"\n\n", "a:1: lower_bound_size: ", "is missing"},
		{"type = \"web_service\";", "a:1: lower_bound_size: ", "is missing"},
		{"\n<RE_agreement/>", "a:2: lower_bound_size: ", "is missing"},
		{"type = \"web_service\"; address = \"10.0.0.1\"; port = 70000;",
		 "a:1: port: ", "from 1 to 65535"},
		{"port = 0;", "a:1: port: ", "from 1 to 65535"},
		{"<RE_agreement>\n<name value=\"x\">y</name></RE_agreement>",
		 "a:2: name: ", "nothing else"},
		{"<RE_agreement>\n<extensions value=\"x\"/></RE_agreement>",
		 "a:2: extensions: ", "has no attributes"},
		{"<RE_agreement name=\"x\"><lower_bound_size>1</lower_bound_size></RE_agreement>",
		 "a:1: RE_agreement: ", "has no attributes"},
		{"name = { x = 1; };", "a:1: name: ", "one value"},
		{"extensions = 3;", "a:1: extensions: ", "must be a group"},
		{"image_version = \"3\";", "a:1: image_version: ", "without an image"},
		{"operating_system = \"Debian 12\";", "a:1: operating_system: ", "small letters"},
		{"operating_system = \"debian 12 \";", "a:1: operating_system: ", "its type"},
		{"operating_system = \"debian 12\"; image = \"debian-1\";",
		 "a:1: image: ", "not of the operating_system"},
		{"lower_bound_size = 3\nname", "a:2: ", "syntax error"},
		{"<RE_agreement>\n<type>web_service</type>\n<type>web_service</type></"
		 "RE_agreement>",
		 "a:3: type: ", "given twice; first in line 2"},
		{"<RE_agreement>\n<type unit=\"x\">web_service</type></RE_agreement>",
		 "a:2: type: ", "nothing else"},
		{"<RE_agreement>\n<type><b/></type></RE_agreement>", "a:2: type: ", "nothing else"},
		{"<RE_agreement>\n\n<name>x</RE_agreement>", "a:3: ", "not well-formed XML"},
		{"<agreement/>", "a:1: ", "<RE_agreement>"},
		{"<RE_agreement>\nwords<name>x</name></RE_agreement>", "a:", "no element"},
		{"<!DOCTYPE RE_agreement [<!ENTITY f SYSTEM "
		 "\"file:///etc/passwd\">]><RE_agreement><name>&f;</name></RE_agreement>",
		 "a:1: ", "document type"},
		{"<RE_agreement><extensions><x>1</x><x>2</x></extensions></RE_agreement>",
		 "a:1: extensions: ", "given twice"},
		{"extensions = { x = \"\xef\xbf\xbf\"; };", "a:1: extensions: ", "not printable"},
		{"<RE_agreement><extensions><a.b>1</a.b></extensions></RE_agreement>",
		 "a:1: extensions: ", "has a key"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_agreement a = {.lower = 77};
		struct phx_err err = {0};
		int r = parse(bad[i].text, &a, NULL, &err);
		if (r != -EINVAL || strncmp(err.text, bad[i].place, strlen(bad[i].place)) ||
		    !strstr(err.text, bad[i].words))
			fail_msg("%s: %d '%s', wanted '%s' and '%s'", bad[i].text, r, err.text,
				 bad[i].place, bad[i].words);
		assert_int_equal(a.lower, 77);
	}
}

/* All that is wrong at once, not the first alone. */
static void test_every_finding(void **state)
{
	struct phx_agreement a;
	struct phx_list found;
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(parse("type = \"x\";\nlease = \"y\";\n\nname = \"-\";\nspeed = 3;", &a,
			       &found, &err),
			 -EINVAL);
	assert_int_equal(found.n, 4);
	assert_int_equal(finding(&found, 3)->line, 5);
	assert_string_equal(finding(&found, 2)->field, "name");
	phx_list_fini(&found);
}

static void test_files(void **state)
{
	struct place *p = *state;
	char path[256];
	struct phx_agreement a;
	struct phx_list found;
	struct phx_err err = {0};
	place_write(p, "night.conf", "lower_bound_size = 2;\n");
	assert_int_equal(phx_agreement_load(place_path(p, "night.conf", path), &a, NULL, &err), 0);
	assert_string_equal(a.name, "night");
	phx_record_fini(&phx_agreement_record, &a);
	place_write(p, "day.xml",
		    "\n "
		    "<RE_agreement><type>web_service</type><lower_bound_size>1</lower_bound_size></"
		    "RE_agreement>\n");
	assert_int_equal(phx_agreement_load(place_path(p, "day.xml", path), &a, &found, &err), 0);
	assert_string_equal(a.name, "day");
	assert_string_equal(a.role, "web-server");
	assert_int_equal(found.n, 0);
	phx_record_fini(&phx_agreement_record, &a);
	assert_int_equal(phx_agreement_load(place_path(p, "none.xml", path), &a, &found, &err),
			 -ENOENT);
	static char big[PHX_AGREEMENT_FILE_MAX + 2];
	memset(big, ' ', sizeof(big) - 1);
	place_write(p, "big.conf", big);
	assert_int_equal(phx_agreement_load(place_path(p, "big.conf", path), &a, &found, &err),
			 -EFBIG);
	place_write_n(p, "nul.xml", "<a>\0</a>", 8);
	assert_int_equal(phx_agreement_load(place_path(p, "nul.xml", path), &a, NULL, &err),
			 -EINVAL);
}

/* What is shipped is right, and reads back. */
static void test_examples(void **state)
{
	static const char *const files[] = {"queue.conf", "pages.conf", "shop.conf", "night.xml"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		char path[512];
		struct phx_agreement a;
		struct phx_err err = {0};
		snprintf(path, sizeof(path), TEST_DIR "/../etc/re/%s", files[i]);
		int r = phx_agreement_load(path, &a, NULL, &err);
		assert_string_equal(err.text, "");
		assert_int_equal(r, 0);
		check_round_trip(&a, phx_agreement_write_conf);
		check_round_trip(&a, phx_agreement_write_xml);
		phx_record_fini(&phx_agreement_record, &a);
	}
}

static const char *value_of(const struct phx_list *given, const char *key)
{
	PHX_LIST_EACH(struct phx_agreement_given, g, given)
		if (!strcmp(g->key, key))
			return g->value;
	return "";
}

/* What a text gives, right or wrong, is written again as it was given, and says the same. */
static void test_given(void **state)
{
	static const char text[] =
		"type = \"web_service\";\n"
		"name = \"pages\"; lower_bound_size = 2;\n"
		"upper_bound_size = \"many\"; window = 5000000000L;\n"
		"nonsense = \"a \\\"b\\\" \\\\\"; threshold = 0.8; port = \"\";\n"
		"extensions = { floor = 2; };\n";
	struct phx_list given = {0}, again = {0};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(phx_agreement_given_in(text, strlen(text), &given), 0);
	assert_int_equal(given.n, 9);
	assert_string_equal(value_of(&given, "upper_bound_size"), "many");
	assert_string_equal(value_of(&given, "nonsense"), "a \"b\" \\");
	assert_int_equal(phx_agreement_write_given(&given, &b, &err), 0);
	/* in the order of the table, what is no key behind it, what is empty not at all */
	assert_string_equal(b.data,
			    "name = \"pages\";\n"
			    "type = \"web_service\";\n"
			    "lower_bound_size = 2;\n"
			    "upper_bound_size = \"many\";\n"
			    "window = \"5000000000\";\n"
			    "threshold = \"0.800000\";\n"
			    "nonsense = \"a \\\"b\\\" \\\\\";\n"
			    "extensions = {\n  floor = 2;\n};\n");
	assert_int_equal(phx_agreement_given_in(b.data, b.n, &again), 0);
	assert_int_equal(again.n, 8);
	PHX_LIST_EACH(struct phx_agreement_given, g, &again)
		assert_string_equal(g->value, value_of(&given, g->key));
	phx_list_fini(&again);
	phx_list_fini(&given);
	/* of what cannot be parsed there is nothing */
	assert_int_equal(phx_agreement_given_in("a = = b;", 8, &given), 0);
	assert_int_equal(given.n, 0);
}

/* No value comes out of its line. */
static void test_given_stays_in_its_line(void **state)
{
	static const struct phx_agreement_given wrong[] = {
		{"name", "a\"; owner = \"b", false, 0}, /* quoted */
		{"name", "a\nowner = 1", false, 0},
		{"na me", "a", false, 0},
		{"name = 1; x", "a", false, 0},
		{"1name", "a", false, 0},
		{"@include", "a", true, 0},
		{"", "a", false, 0},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		struct phx_list given = {0};
		PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
		struct phx_err err = {0};
		*(struct phx_agreement_given *)phx_list_push(&given, sizeof(wrong[i])) = wrong[i];
		int r = phx_agreement_write_given(&given, &b, &err);
		assert_int_equal(r, i ? -EINVAL : 0);
		if (i == 0)
			assert_string_equal(b.data, "name = \"a\\\"; owner = \\\"b\";\n");
		phx_list_fini(&given);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libconfig),
		cmocka_unit_test(test_figure_well_formed),
		cmocka_unit_test(test_figure_as_printed),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_every_finding),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_given_stays_in_its_line),
		cmocka_unit_test_setup_teardown(test_files, place_make, place_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
