/* Pictures of workflows: the text of each kind, what is escaped, lines that need not cross. */
#include "flow/graph.h"
#include "unit/flow/flows.h"

static struct phx_flow f;
static struct phx_buf b;

static int teardown(void **state)
{
	(void)state;
	phx_flow_fini(&f);
	phx_buf_fini(&b);
	b = (struct phx_buf){0};
	return 0;
}

static const char *draw(const char *words, enum phx_flow_graph graph)
{
	teardown(NULL);
	make_flow(words, &f);
	phx_flow_draw(&f, graph, &b);
	assert_false(b.failed);
	return b.data;
}

static void test_dot(void **state)
{
	(void)state;
	assert_string_equal(draw("a b<a q\"\\<a,b", PHX_FLOW_DOT),
			    "digraph \"\" {\n  node [shape=box];\n"
			    "  \"a\" [group=\"a\"];\n  \"b\" [group=\"b\"];\n"
			    "  \"q\\\"\\\\\" [group=\"q\\\"\\\\\"];\n"
			    "  \"a\" -> \"b\";\n  \"a\" -> \"q\\\"\\\\\";\n"
			    "  \"b\" -> \"q\\\"\\\\\";\n}\n");
}

static void test_ascii(void **state)
{
	(void)state;
	assert_string_equal(draw("z<a,b,c,d,e,f,g,h a b c d e f g h", PHX_FLOW_ASCII),
			    "level 0, tasks: 8\n  a\n  b\n  c\n  d\n  e\n  f\n  g\n  h\n"
			    "level 1, tasks: 1\n  z  <- a, b, c, d, e, f and 2 more\n");
	assert_string_equal(draw("b<a a", PHX_FLOW_ASCII),
			    "level 0, tasks: 1\n  a\nlevel 1, tasks: 1\n  b  <- a\n");
}

static unsigned count(const char *text, const char *part)
{
	unsigned n = 0;
	for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
		n++;
	return n;
}

static void test_svg(void **state)
{
	(void)state;
	const char *svg = draw("a&b x>\" c<a&b 0123456789012345678901", PHX_FLOW_SVG);
	assert_int_equal(count(svg, "<rect x="), 4);
	assert_int_equal(count(svg, "<path "), 1);
	assert_int_equal(count(svg, "a&b"), 0);
	assert_int_equal(count(svg, ">a&amp;b</text>"), 1);
	assert_int_equal(count(svg, ">x&gt;&quot;</text>"), 1);
	assert_int_equal(count(svg, ">012345678901234567\xe2\x80\xa6</text>"), 1);
	assert_int_equal(count(svg, "<title>0123456789012345678901 (0123456789012345678901)"), 1);
	PHX_AUTO_FREE char *once = strdup(svg);
	assert_string_equal(draw("a&b x>\" c<a&b 0123456789012345678901", PHX_FLOW_SVG), once);
}

/* Each of the second row hangs on one of the first, in the other order: drawn, no lines cross. */
static void test_order(void **state)
{
	unsigned x1, y1, c1, d1, x2, y2;
	(void)state;
	const char *p = draw("a b c d w<d x<c y<b z<a", PHX_FLOW_SVG);
	for (int n = 0; n < 4; n++, p++) {
		p = strstr(p, "<path d=\"M");
		assert_non_null(p);
		unsigned e, g;
		assert_int_equal(sscanf(p, "<path d=\"M%u %uC%u %u %u %u %u %u\"/>", &x1, &y1, &c1,
					&d1, &e, &g, &x2, &y2),
				 8);
		assert_int_equal(x1, x2);
		assert_true(y1 < y2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dot),
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_svg),
		cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
