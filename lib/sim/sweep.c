/* Sweeps: see sweep.h. Each point reads the scenario with its own settings; the
 * traces are read once by the store. Called by phx sim sweep. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/sweep.h"

/* ---- the values ---- */

static int add_value(struct phx_sim_varied *v, const char *text, size_t n)
{
	char **values = reallocarray(v->values, v->n + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	v->values = values;
	v->values[v->n] = strndup(text, n);
	return v->values[v->n] ? (int)(v->n++, 0) : -ENOMEM;
}

static bool read_number(const char *text, size_t n, double *ret)
{
	char copy[64], *end;
	if (!n || n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*ret = strtod(copy, &end);
	return !*end && isfinite(*ret);
}

static int add_range(struct phx_sim_varied *v, const char *text, struct phx_err *err)
{
	const char *dots = strstr(text, ".."), *colon = strchr(text, ':');
	double from, to, step = 1;
	size_t n_to = colon ? (size_t)(colon - dots - 2) : strlen(dots + 2);
	if (!read_number(text, (size_t)(dots - text), &from) || !read_number(dots + 2, n_to, &to) ||
	    (colon && !read_number(colon + 1, strlen(colon + 1), &step)) || !(step > 0) ||
	    !(from <= to))
		return phx_err_set(
			err, -EINVAL,
			"\"%s\": FROM..TO or FROM..TO:STEP is wanted, with rising numbers, like "
			"100..200:10",
			text);
	if ((to - from) / step >= PHX_SIM_SWEEP_POINTS_MAX)
		return phx_err_set(err, -E2BIG, "\"%s\": more than %d values", text,
				   PHX_SIM_SWEEP_POINTS_MAX);
	int r = 0;
	/* by number, not by adding up: 0.1 ten times is not 1 */
	for (size_t i = 0; r == 0 && from + (double)i * step <= to + step * 1e-9; i++) {
		char value[64];
		int n = snprintf(value, sizeof(value), "%.10g", from + (double)i * step);
		r = add_value(v, value, (size_t)n);
	}
	return r;
}

static int add_words(struct phx_sim_varied *v, const char *text, struct phx_err *err)
{
	int r = 0;
	for (const char *p = text; r == 0; p++) {
		size_t n = strcspn(p, ",");
		if (!n)
			return phx_err_set(err, -EINVAL, "\"%s\": a value is missing", text);
		r = add_value(v, p, n);
		p += n;
		if (!*p)
			break;
	}
	return r;
}

int phx_sim_varied_parse(const char *text, struct phx_sim_varied *ret, struct phx_err *err)
{
	struct phx_sim_varied v = {0};
	const char *eq = strchr(text, '=');
	size_t n = eq ? (size_t)(eq - text) : 0;
	if (!n || n >= sizeof(v.path) || !eq[1])
		return phx_err_set(
			err, -EINVAL,
			"\"%s\": PATH=VALUES is wanted, like clusters.shared.nodes=100..200:10",
			text);
	memcpy(v.path, text, n);
	int r = strstr(eq + 1, "..") ? add_range(&v, eq + 1, err) : add_words(&v, eq + 1, err);
	if (r < 0)
		phx_sim_varied_fini(&v);
	else
		*ret = v;
	return r;
}

void phx_sim_varied_fini(struct phx_sim_varied *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->values[i]);
	free(v->values);
	*v = (struct phx_sim_varied){0};
}

/* ---- the points ---- */

struct sweep {
	const struct phx_sim_sweep_config *config;
	struct phx_sim_sweep_point *points;
};

static void name_point(struct sweep *s, size_t i)
{
	const struct phx_sim_sweep_config *c = s->config;
	size_t rest = i;
	for (size_t k = c->n_varied; k-- > 0;) {
		s->points[i].value[k] = c->varied[k].values[rest % c->varied[k].n];
		rest /= c->varied[k].n;
	}
}

static int run_point(void *arg, size_t i, struct phx_err *err)
{
	struct sweep *s = arg;
	const struct phx_sim_sweep_config *c = s->config;
	struct phx_sim_scenario scenario = {0};
	char own[PHX_SIM_SWEEP_VARIED_MAX][256];
	PHX_AUTO_FREE const char **set = calloc(c->n_set + c->n_varied, sizeof(*set));
	if (!set)
		return -ENOMEM;
	for (size_t k = 0; k < c->n_set; k++)
		set[k] = c->set[k];
	for (size_t k = 0; k < c->n_varied; k++) {
		snprintf(own[k], sizeof(own[k]), "%s=%s", c->varied[k].path, s->points[i].value[k]);
		set[c->n_set + k] = own[k];
	}
	int r = phx_sim_scenario_read(c->scenario, set, c->n_set + c->n_varied, &scenario, err);
	r = r < 0 ? r : phx_sim_scenario_run(&scenario, c->store, NULL, &s->points[i].result, err);
	phx_sim_scenario_fini(&scenario);
	for (size_t k = c->n_varied; r < 0 && k-- > 0;)
		phx_err_prefix(err, r, "%s", own[k]);
	return r;
}

static void tell(void *arg, size_t n_done, size_t n)
{
	const struct phx_sim_sweep_config *c = ((struct sweep *)arg)->config;
	c->progress(c->progress_arg, n_done, n);
}

int phx_sim_sweep(const struct phx_sim_sweep_config *config,
		  struct phx_sim_sweep_point **ret_points, size_t *ret_n, struct phx_err *err)
{
	struct sweep s = {.config = config};
	size_t n = 1;
	if (config->n_varied > PHX_SIM_SWEEP_VARIED_MAX)
		return phx_err_set(err, -E2BIG, "at most %d settings can vary",
				   PHX_SIM_SWEEP_VARIED_MAX);
	for (size_t k = 0; k < config->n_varied; k++)
		if (__builtin_mul_overflow(n, config->varied[k].n, &n) ||
		    n > PHX_SIM_SWEEP_POINTS_MAX)
			return phx_err_set(err, -E2BIG, "more than %d combinations",
					   PHX_SIM_SWEEP_POINTS_MAX);
	s.points = calloc(n, sizeof(*s.points));
	if (!s.points)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		name_point(&s, i);
	int r = phx_sim_pool_run(config->workers, n, run_point, config->progress ? tell : NULL, &s,
				 err);
	if (r < 0) {
		phx_sim_sweep_free(s.points, n);
		return r;
	}
	*ret_points = s.points;
	*ret_n = n;
	return 0;
}

void phx_sim_sweep_free(struct phx_sim_sweep_point *points, size_t n)
{
	for (size_t i = 0; points && i < n; i++)
		phx_sim_result_fini(&points[i].result);
	free(points);
}
