/* phx node list, show, add: what is printed in each format, and what is said of
 * names that do not exist. The daemon is a fake; phx is the real program. */
#include "fake/phxd.h"

#define NODE(name, state, pool, role, more) \
	"{'name':'" name "','state':'" state "','pool':'" pool "','role':'" role \
	"','up':true,'power':'on'" more "}"

static const char three[] = "{'nodes':[" NODE(
	"node10", "active", "web", "web-server",
	",'env':'os','healthy':true,'expected':'debian-12@1 nginx-1','drift':true,"
	"'actual_identity':'debian-12@1 nginx-0','up_since_ms':1000") "," //
	NODE("node1", "active", "batch", "batch-compute",
	     ",'healthy':true,'plan':{'epoch':7,'steps':[]}") "," //
	NODE("node2", "quarantined", "", "", ",'reason':'wipe: read-back found data'") "]}";

static void lists_nodes_sorted_with_notes(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	PHX_SAID s = phx(f, "node list");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.errout, "");
	assert_has(s.out, "NODE    STATE        POOL   ROLE           UP");
	assert_has(s.out, "drift: runs debian-12@1 nginx-0");
	assert_has(s.out, "wipe: read-back found data");
	assert_true(strstr(s.out, "node1 ") < strstr(s.out, "node2 "));
	assert_true(strstr(s.out, "node2 ") < strstr(s.out, "node10 "));
	assert_null(strchr(s.out, '\033'));
}

static void drain_is_listed_with_its_reason(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[" NODE("n1", "draining", "batch", "compute",
				      ",'reason':'new "
				      "disks','plan':{'request':'drain','epoch':7,'cursor':0,'"
				      "steps':[{'kind':'drain'}]}") "]}");
	PHX_SAID s = phx(f, "node list");
	assert_has(s.out, "drain 1/1: new disks");
}

static void names_are_one_a_line_or_folded(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	PHX_SAID names = phx(f, "node list -o name");
	assert_string_equal(names.out, "node1\nnode2\nnode10\n");
	PHX_SAID folded = phx(f, "node list -o name --fold");
	assert_string_equal(folded.out, "node[1-2,10]\n");
}

static void tsv_has_a_heading_and_no_padding(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	PHX_SAID s = phx(f, "node list node2 -o tsv");
	assert_has(s.out, "NODE\tSTATE\tPOOL\t");
	assert_has(s.out, "node2\tquarantined\t\t\tyes\t");
	PHX_SAID bare = phx(f, "node list node2 -o tsv --no-header");
	assert_lacks(bare.out, "NODE\t");
}

static void json_is_what_phxd_said(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	fake_answer(f, "GET /v1/nodes?names=@state:quarantined", "{'nodes':[{'name':'node2'}]}");
	PHX_SAID s = phx(f, "node list @state:quarantined -o json");
	json_t *j = NULL;
	assert_int_equal(phx_json_parse(s.out, strlen(s.out), &j, NULL), 0);
	json_t *nodes = json_object_get(j, "nodes");
	assert_int_equal(json_array_size(nodes), 1);
	assert_string_equal(phx_json_str(json_array_get(nodes, 0), "name", ""), "node2");
	json_decref(j);
}

static void yaml_quotes_what_could_be_misread(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','reason':'no','serial':'0012','list':[[1,2],[]],'text':"
		    "'a: b','empty':{}}]}");
	PHX_SAID s = phx(f, "node list -o yaml");
	assert_string_equal(s.out,
			    "nodes:\n"
			    "- name: n1\n"
			    "  reason: \"no\"\n"
			    "  serial: \"0012\"\n"
			    "  list:\n"
			    "  - \n"
			    "    - 1\n"
			    "    - 2\n"
			    "  - []\n"
			    "  text: \"a: b\"\n"
			    "  empty: {}\n");
}

static void groups_and_operators_select(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	fake_answer(f, "GET /v1/nodes?names=@role:web-server", "{'nodes':[{'name':'node10'}]}");
	fake_answer(f, "GET /v1/nodes?names=@pool:batch", "{'nodes':[{'name':'node1'}]}");
	fake_answer(f, "GET /v1/nodes?names=@missing", "{'nodes':[]}");
	PHX_SAID role = phx(f, "node list @role:web-server,node2 -o name");
	assert_string_equal(role.out, "node2\nnode10\n");
	PHX_SAID less = phx(f, "node list @all!@pool:batch -o name");
	assert_string_equal(less.out, "node2\nnode10\n");
	PHX_SAID missing = phx(f, "node list @missing -o name");
	assert_int_equal(missing.status, 0);
	assert_string_equal(missing.out, "");
	/* a misspelt group behind '!' would take nothing away */
	fake_answer_status(f, "GET /v1/nodes?names=@role:web-sever", 404, "{'error':'none'}");
	PHX_SAID bad = phx(f, "node list @all!@role:web-sever -o name");
	assert_int_equal(bad.status, 64);
	assert_string_equal(bad.out, "");
	assert_has(bad.errout, "there is no group '@role:web-sever'");
	fake_answer_status(f, "GET /v1/nodes?names=@rack=1", 503, "{'error':'not now'}");
	PHX_SAID later = phx(f, "node list node1,@rack=1 -o name");
	assert_int_equal(later.status, 75);
	assert_string_equal(later.out, "");
	assert_has(later.errout, "not now");
}

static void an_unknown_node_is_told_with_the_nearest(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	PHX_SAID s = phx(f, "node show nod1");
	assert_int_equal(s.status, 64);
	assert_string_equal(s.out, "");
	assert_string_equal(s.errout, "phx: there is no node 'nod1'; did you mean 'node1'?\n");
	PHX_SAID many = phx(f, "node show node[1,3-5]");
	assert_int_equal(many.status, 64);
	assert_has(many.errout, "there is no node 'node[3-5]'");
	PHX_SAID far = phx(f, "node show something");
	assert_string_equal(far.errout, "phx: there is no node 'something'\n");
}

static void a_malformed_list_names_the_column(void **state)
{
	struct fake_phxd *f = *state;
	PHX_SAID s = phx(f, "node list node[1-");
	assert_int_equal(s.status, 64);
	assert_has(s.errout, "node list: NODES: node list, column 8");
	assert_string_equal(f->log, "");
}

static void show_tells_expected_against_actual(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", three);
	PHX_SAID s = phx(f, "node show node10");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "node10\n  State        active\n");
	assert_has(s.out, "  expected   debian-12@1 nginx-1\n");
	assert_has(s.out, "  actual     debian-12@1 nginx-0\n");
	assert_has(s.out, "  drift      yes\n");
	assert_has(s.out, "Up           yes, in the installed system");
}

static void show_prints_facts_and_the_plan(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(
		f, "GET /v1/nodes",
		"{'nodes':[{'name':'n1','state':'cleaning','up':true,'env':'deploy',"
		"'bmc':{'driver':'ipmi','address':'10.0.0.9'},'power':'on',"
		"'macs':[{'mac':'52:54:00:00:00:01'}],"
		"'facts':{'cpus':4,'cores':4,'sockets':1,'memory_bytes':536870912,'vendor':'QEMU','"
		"product':'PC',"
		"'disks':[{'id':'serial-X-1','dev':'vda','size_bytes':2147483648,'can_discard':"
		"true}],"
		"'nics':[{'mac':'52:54:00:00:00:01','dev':'eth0','link':true,'speed_mbps':1000}]},"
		"'plan':{'epoch':3,'tier':'kexec','request':'assign','to_role':'web-server','"
		"cursor':1,"
		"'expected_ms':30000,'reason':'the disk must be wiped','steps':["
		"{'kind':'kexec','status':'done','attempt':1,'expected_ms':9000,'issued_ms':1000,'"
		"ended_ms':9500},"
		"{'kind':'wipe','status':'issued','attempt':2,'method':'discard','disk':'serial-X-"
		"1','error':'I/O'}"
		"]}}]}");
	PHX_SAID s = phx(f, "node show n1");
	assert_has(s.out, "Power        on (ipmi 10.0.0.9)\n");
	assert_has(s.out, "CPUs         4 (4 cores, 1 sockets)");
	assert_has(s.out, "Memory       512.0 MiB\n");
	assert_has(s.out, "serial-X-1  vda  2.0 GiB");
	assert_has(s.out, "Plan 3: assign web-server, kexec: the disk must be wiped;");
	assert_has(s.out, "8.5 s");
	assert_has(s.out, "(discard): serial-X-1");
	assert_has(s.out, "cleaning");
	PHX_SAID list = phx(f, "node list");
	assert_has(list.out, "wipe 2/2 (attempt 2): I/O");
}

static void show_tells_of_another_kernel_than_the_images(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *env, *own, *line;
	} rows[] = {
		{"os", "6.1-rt", "Kernel       6.1, and not that of its image: 6.1-rt\n"},
		{"os", "6.1", "Kernel       6.1\n"},
		{"os", "", "Kernel       6.1\n"},
		{"deploy", "6.1-rt", "Kernel       6.1\n"}, /* its disks are erased, say */
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char answer[200];
		snprintf(answer, sizeof(answer),
			 "{'nodes':[{'name':'n1','state':'active','env':'%s','system_kernel':'%s',"
			 "'facts':{'kernel':'6.1'}}]}",
			 rows[i].env, rows[i].own);
		fake_answer(f, "GET /v1/nodes", answer);
		PHX_SAID s = phx(f, "node show n1");
		assert_has(s.out, rows[i].line);
	}
}

/* For programs a value a column, and a number without a unit. */
static void show_has_columns(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','state':'quarantined','reason':'a, "
		    "b','up':true,'env':'deploy','serial':'S1',"
		    "'macs':[{'mac':'52:54:00:00:00:01'},{'mac':'52:54:00:00:00:02'}],'facts':{'"
		    "memory_bytes':536870912}}]}");
	PHX_SAID csv = phx(f, "node show n1 -o csv");
	assert_true(phx_str_starts(csv.out, "NODE,STATE,REASON,POOL,"));
	assert_has(csv.out, "\nn1,quarantined,\"a, b\",");
	assert_has(csv.out, ",yes,deploy,,\"52:54:00:00:00:01, 52:54:00:00:00:02\",S1,");
	assert_has(csv.out, ",536870912,");
	PHX_SAID tsv = phx(f, "node show n1 -o tsv --no-header");
	assert_true(phx_str_starts(tsv.out, "n1\tquarantined\ta, b\t"));
	PHX_SAID names = phx(f, "node show n1 -o name");
	assert_string_equal(names.out, "n1\n");
}

/* What a node reports must not steer the terminal of who looks at it. */
static void control_characters_are_made_harmless(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','state':'quarantined','reason':'a\\u001b[2Jb'}]}");
	PHX_SAID list = phx(f, "node list");
	assert_null(strchr(list.out, '\033'));
	PHX_SAID show = phx(f, "node show n1");
	assert_has(show.out, "quarantined: a\\x1b[2Jb");
}

static void add_sends_identity_and_bmc(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/nodes", "{'results':[{'node':'n1','code':0,'changed':true}]}");
	PHX_SAID s =
		phx(f,
		    "node add n1 --mac 52-54-00-AA-BB-01 --mac 525400aabb02 --serial S1 --hold "
		    "--bmc driver=ipmi,address=10.0.0.9 --bmc user=admin,insecure=true");
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"macs\":[\"52:54:00:aa:bb:01\",\"52:54:00:aa:bb:02\"]");
	assert_has(f->log, "\"serial\":\"S1\"");
	assert_has(f->log, "\"hold\":true");
	assert_has(f->log, "\"driver\":\"ipmi\"");
	assert_has(f->log, "\"user\":\"admin\"");
	assert_has(f->log, "\"insecure\":true");
}

static void add_again_is_no_error(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/nodes", "{'results':[{'node':'n1','code':0,'changed':false}]}");
	PHX_SAID s = phx(f, "node add n1 --mac 52:54:00:aa:bb:01");
	assert_int_equal(s.status, 0);
	assert_has(s.errout, "n1: this is so already");
	fake_answer(f, "POST /v1/nodes",
		    "{'results':[{'node':'n1','code':-17,'error':'node n1 is there already'}]}");
	PHX_SAID other = phx(f, "node add n1 --mac 52:54:00:aa:bb:09");
	assert_int_equal(other.status, 64);
	assert_has(other.errout, "n1: is there already");
}

/* Addresses of a list are counted up, in its order. */
static void add_counts_up(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "POST /v1/nodes",
		    "{'results':[{'node':'n9','code':0,'changed':true},"
		    "{'node':'n10','code':-17,'error':'taken'}]}");
	PHX_SAID s = phx(f,
			 "node add n[9-10] --mac 52:54:00:aa:bb:09 --mac 52:54:00:aa:bb:10 --ip "
			 "10.0.0.255+ --bmc driver=ipmi,address=10.9.0.9+");
	assert_int_equal(s.status, 1);
	assert_has(f->log, "\"name\":\"n10\",\"ip\":\"10.0.1.0\"");
	assert_has(f->log, "\"address\":\"10.9.0.10\"");
	assert_has(s.errout, "n10: taken");
	PHX_SAID beyond = phx(f,
			      "node add n[9-10] --mac 52:54:00:aa:bb:09 --mac 52:54:00:aa:bb:10 "
			      "--ip 255.255.255.255+");
	assert_int_equal(beyond.status, 64);
}

static void add_wants_to_know_how_to_recognise(void **state)
{
	struct fake_phxd *f = *state;
	PHX_SAID none = phx(f, "node add n1");
	assert_int_equal(none.status, 64);
	assert_has(none.errout, "--mac");
	PHX_SAID uuid = phx(f, "node add n1 --uuid 1234"); /* nothing is found by it */
	assert_int_equal(uuid.status, 64);
	PHX_SAID mac = phx(f, "node add n1 --mac 52:54:00");
	assert_int_equal(mac.status, 64);
	assert_has(mac.errout, "\"52:54:00\" is not a MAC address; 52:54:00:12:34:56 is");
	PHX_SAID key = phx(f, "node add n1 --serial S --bmc colour=red");
	assert_int_equal(key.status, 64);
	assert_has(key.errout, "there is no key 'colour'");
	PHX_SAID truth = phx(f, "node add n1 --serial S --bmc insecure=maybe");
	assert_int_equal(truth.status, 64);
	PHX_SAID file = phx(f, "node add n1 --token-file /nonexistent");
	assert_int_equal(file.status, 64);
	assert_string_equal(f->log, "");
}

/* Who asks first with the MAC address is the node, where nothing else is known of it: that is said
 * before. */
static void by_mac_alone_is_warned_of(void **state)
{
	struct fake_phxd *f = *state;
	static const struct {
		const char *options;
		bool warned;
	} cases[] = {
		{"", true},
		{" --uuid 1234", true},
		{" --ip 10.0.0.7", false},
		{" --serial S1", false},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		char line[128];
		snprintf(line, sizeof(line), "node add n1 --mac 52:54:00:aa:bb:01%s",
			 cases[i].options);
		fake_answer(f, "POST /v1/nodes",
			    "{'results':[{'node':'n1','code':0,'changed':true}]}");
		PHX_SAID s = phx(f, line);
		assert_int_equal(s.status, 0);
		if (cases[i].warned)
			assert_has(s.errout, "warning: n1 is known by its MAC address alone");
		else
			assert_string_equal(s.errout, "");
	}
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n1','state':'new','by_mac_alone':true},{'name':'n2','by_"
		    "mac_alone':false}]}");
	fake_answer(f, "POST /v1/actions/accept",
		    "{'results':[{'node':'n1','code':0,'changed':true}]}");
	PHX_SAID one = phx(f, "node accept n[1-2]");
	assert_has(one.errout, "warning: n1 is known by its MAC address alone");
	assert_lacks(one.errout, "n2");
}

static void a_token_comes_from_a_file(void **state)
{
	struct fake_phxd *f = *state;
	char line[256], path[128];
	snprintf(path, sizeof(path), "%s/token", f->dir);
	assert_int_equal(phx_file_write(path, "sesame\n", 7, 0600, NULL), 0);
	snprintf(line, sizeof(line), "node add n1 --token-file %s", path);
	fake_answer(f, "POST /v1/nodes", "{'results':[{'node':'n1','code':0,'changed':true}]}");
	PHX_SAID s = phx(f, line);
	assert_int_equal(s.status, 0);
	assert_has(f->log, "\"token\":\"sesame\"");
	assert_lacks(s.errout, "sesame");
}

static void erasures_of_several_nodes_are_one_table(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1'},{'name':'n2'}]}");
	fake_answer(f, "GET /v1/nodes/n1/erasures",
		    "{'erasures':[{'node':'n1','time_ms':0,'disk':'serial-X','method':'discard','"
		    "size_bytes':2147483648,"
		    "'verified_bytes':33554432,'signature':'0123456789abcdef'}]}");
	fake_answer(f, "GET /v1/nodes/n2/erasures", "{'erasures':[]}");
	PHX_SAID s = phx(f, "node erasures n[1-2]");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "serial-X  discard  2.0 GiB");
	assert_has(s.out, "0123456789ab");
}

static void erasures_of_a_node_that_is_gone_are_kept(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes", "{'nodes':[{'name':'n1'}]}");
	fake_answer(f, "GET /v1/nodes/n2/erasures",
		    "{'erasures':[{'node':'n2','time_ms':0,'disk':'serial-Y','method':'discard','"
		    "size_bytes':2147483648,"
		    "'verified_bytes':33554432,'signature':'0123456789abcdef'}]}");
	PHX_SAID s = phx(f, "node erasures n2");
	assert_int_equal(s.status, 0);
	assert_has(s.out, "serial-Y  discard  2.0 GiB");
}

/* n2 before n10; the greatest first; what is equal stays as it was; columns as asked for. */
static void a_list_is_sorted_and_cut(void **state)
{
	struct fake_phxd *f = *state;
	fake_answer(f, "GET /v1/nodes",
		    "{'nodes':[{'name':'n10','state':'ready','facts':{'cpus':8}},"
		    "{'name':'n2','state':'active','facts':{'cpus':64}},"
		    "{'name':'n1','state':'ready','facts':{'cpus':128}}]}");
	PHX_SAID s = phx(f, "node list --sort node --columns cpus,NODE");
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "CPUS  NODE\n 128  n1\n  64  n2\n   8  n10\n");
	PHX_SAID down = phx(f, "node list --sort state,-cpus -o name");
	assert_string_equal(down.out, "n2\nn1\nn10\n");
	PHX_SAID json = phx(f, "node list --sort -cpus -o json");
	assert_true(strstr(json.out, "n1\"") < strstr(json.out, "n2\""));
	assert_true(strstr(json.out, "n2\"") < strstr(json.out, "n10\""));
	PHX_SAID bad = phx(f, "node list --sort nods");
	assert_int_equal(bad.status, 64);
	assert_has(bad.errout, "--sort: there is no column 'nods'; there are: NODE, STATE, POOL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_list_is_sorted_and_cut, fake_clean),
		cmocka_unit_test_teardown(lists_nodes_sorted_with_notes, fake_clean),
		cmocka_unit_test_teardown(drain_is_listed_with_its_reason, fake_clean),
		cmocka_unit_test_teardown(names_are_one_a_line_or_folded, fake_clean),
		cmocka_unit_test_teardown(tsv_has_a_heading_and_no_padding, fake_clean),
		cmocka_unit_test_teardown(json_is_what_phxd_said, fake_clean),
		cmocka_unit_test_teardown(yaml_quotes_what_could_be_misread, fake_clean),
		cmocka_unit_test_teardown(groups_and_operators_select, fake_clean),
		cmocka_unit_test_teardown(an_unknown_node_is_told_with_the_nearest, fake_clean),
		cmocka_unit_test_teardown(a_malformed_list_names_the_column, fake_clean),
		cmocka_unit_test_teardown(show_tells_expected_against_actual, fake_clean),
		cmocka_unit_test_teardown(show_prints_facts_and_the_plan, fake_clean),
		cmocka_unit_test_teardown(show_tells_of_another_kernel_than_the_images, fake_clean),
		cmocka_unit_test_teardown(show_has_columns, fake_clean),
		cmocka_unit_test_teardown(control_characters_are_made_harmless, fake_clean),
		cmocka_unit_test_teardown(add_sends_identity_and_bmc, fake_clean),
		cmocka_unit_test_teardown(add_again_is_no_error, fake_clean),
		cmocka_unit_test_teardown(add_counts_up, fake_clean),
		cmocka_unit_test_teardown(add_wants_to_know_how_to_recognise, fake_clean),
		cmocka_unit_test_teardown(a_token_comes_from_a_file, fake_clean),
		cmocka_unit_test_teardown(by_mac_alone_is_warned_of, fake_clean),
		cmocka_unit_test_teardown(erasures_of_several_nodes_are_one_table, fake_clean),
		cmocka_unit_test_teardown(erasures_of_a_node_that_is_gone_are_kept, fake_clean),
	};
	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
