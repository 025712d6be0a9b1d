// What was, as the head tells it (GET /v1/timeline), made into steps that can be drawn: a value holds from one moment until another, and where
// nothing is known there is nothing. Asks nobody.
const share = (part, whole) => (whole ? part / whole : null);

// What is drawn below each other. of: the value of row `i` of a pool; null: none. all: also of pools where it is always 0.
export const panels = [
	{ name: 'nodes', title: 'Nodes of each pool', unit: 'nodes', all: true, of: (v, i) => v.nodes[i] },
	{ name: 'demand', title: 'Demand', unit: 'nodes', of: (v, i) => v.demand[i] },
	{ name: 'use', title: 'CPU use', unit: '%', of: (v, i) => (v.use[i] === null ? null : v.use[i] / 10000) },
	{ name: 'running', title: 'Jobs that run', unit: 'jobs', of: (v, i) => v.running[i] },
	{ name: 'waiting', title: 'Jobs that wait', unit: 'jobs', of: (v, i) => v.waiting[i] },
	{ name: 'response', title: 'Response time of jobs that ended', unit: 's', of: (v, i) => share(v.turnaround[i] / 1000, v.ended[i]) },
	{ name: 'kills', title: 'Jobs killed for their nodes', unit: 'jobs', of: (v, i) => v.kills[i] || null },
];

const MOMENT_MS = 1000; // what happens at a moment is drawn as long

// Until when row `i` holds: of moments as long as it says, of longer ones their step, but not into the future.
function endOf(answer, pool, i) {
	const long = answer.level === 'moment' ? pool.covered_ms[i] || MOMENT_MS : answer.step_ms;
	return Math.min(pool.at_ms[i] + long, Math.max(answer.now_ms, pool.at_ms[i] + (pool.covered_ms[i] || MOMENT_MS)));
}

// The steps of one pool: [{ from, until, value }], those that follow each other with one value as one.
function stepsOf(answer, panel, pool) {
	const steps = [];
	for (let i = 0; i < pool.at_ms.length; i++) {
		const value = panel.of(pool.values, i), from = pool.at_ms[i], until = endOf(answer, pool, i), last = steps.at(-1);
		if (value === null || Number.isNaN(value))
			continue;
		if (last && last.until >= from && last.value === value)
			last.until = until;
		else
			steps.push({ from, until, value });
	}
	return steps;
}

// [{ pool, steps }] of those that have something to show.
export function stepsOfPanel(answer, panel) {
	return answer.pools.map((pool) => ({ pool: pool.pool, steps: stepsOf(answer, panel, pool) }))
		.filter(({ steps }) => steps.length && (panel.all || steps.some((s) => s.value > 0)));
}

// As uPlot has it: [times in s, values of the first, of the second, ...], each value from its time on.
export function aligned(lines) {
	const times = [...new Set(lines.flatMap((l) => l.steps.flatMap((s) => [s.from, s.until])))].sort((a, b) => a - b);
	const values = lines.map(({ steps }) => {
		let k = 0;
		return times.map((t) => {
			while (k < steps.length - 1 && steps[k].until <= t && steps[k + 1].from <= t)
				k++;
			const s = steps[k];
			return t >= s.from && t <= s.until ? s.value : null;
		});
	});
	return [times.map((t) => t / 1000), ...values];
}

// In the time that is looked at: mean over what is known of it, least, most, last.
export function summary(steps, from, until) {
	let sum = 0, known = 0, most = -Infinity, least = Infinity, last = null;
	for (const s of steps) {
		const long = Math.min(until, s.until) - Math.max(from, s.from);
		if (long < 0)
			continue;
		sum += s.value * long;
		known += long;
		most = Math.max(most, s.value);
		least = Math.min(least, s.value);
		last = s.value;
	}
	return { mean: known ? sum / known : last, least, most, last };
}

export const total = (pool, name) => pool.values[name].reduce((n, v) => n + (v ?? 0), 0);
