// The time-line: nodes are handed between two runtime environments, a job is killed for its node; what is drawn is what the journal says. Zoomed
// by the keyboard, saved as CSV and SVG; who may not see it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { accessible, picture, signIn } from './browser.mjs';

const api = (path, ...args) => JSON.parse(execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, `http://unix${path}`, ...args], { encoding: 'utf8' }));
const phx = (...args) => execFileSync(`${process.env.BUILD}/bin/phx`, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const nodes = [1, 2, 3, 4, 5, 6].map((i) => `n${i}`);
const LATE_MS = 40_000;

async function until(what, is, seen = () => '') {
	for (const end = Date.now() + LATE_MS; Date.now() < end; await pause(100)) {
		const found = is();
		if (found)
			return found;
	}
	return assert.fail(`not in time: ${what}; ${seen()}`);
}

function agreement(name, type, role, lower, more) {
	const file = `${process.env.PORTAL_WORK}/${name}.conf`;
	writeFileSync(file, `name = "${name}"; type = "${type}"; relationship = "same"; granularity = "node"; role = "${role}"; coordinated_RE = "own";
		resource_coordination_model = "fb"; lower_bound_size = ${lower}; upper_bound_size = ${lower}; lease = "2s"; setup_policy = "noop"; ${more}`);
	phx('re', 'create', file);
	phx('re', 'activate', name, '--wait', '--timeout', '60');
}

const held = (name) => api(`/v1/res/${name}`).nodes.held;
const timeline = (more = '') => api(`/v1/timeline?points=5000${more}`);
const poolOf = (answer, name) => answer.pools.find((p) => p.pool === name);
const sum = (list) => list.reduce((a, b) => a + b, 0);

let from = 0, wholeKills = 0;

// Three jobs fill the three nodes of `queue`; the load of `pages` grows, and takes one of them.
async function handOver() {
	from = Date.now();
	agreement('pages', 'web_service', 'web', 1, 'window = "1s"; initial_instances = 1;');
	agreement('queue', 'parallel_batch_jobs', 'batch', 3, '');
	await until('the nodes come', () => held('queue') === 3 && held('pages') === 1);
	await pause(2500); // it is to be seen that they stayed
	nodes.forEach((n) => writeFileSync(`${process.env.PORTAL_WORK}/${n}/busy`, '')); // jobs of theirs go on
	for (let i = 0; i < 3; i++)
		api('/v1/jobs', '-d', '{"argv": ["work"], "re": "queue", "user": "daemon"}');
	await until('the jobs run', () => api('/v1/res/queue').jobs.running === 3);
	await pause(2500); // that, too
	api('/v1/res/pages/use', '-d', '{"use_ppm": 950000}');
	await until('the hand-over', () => held('pages') === 2 && held('queue') === 2);
	nodes.forEach((n) => unlinkSync(`${process.env.PORTAL_WORK}/${n}/busy`));
	await until('the jobs end', () => api('/v1/jobs').jobs.filter((j) => j.re === 'queue').every((j) => j.state === 'done'));
	wholeKills = api('/v1/res/queue').meter.n_kills;
}

async function open(browser, user, item) {
	const page = await signIn(browser, user);
	await page.goto(`${page.url().replace(/#.*/, '')}#/timeline${item ? `/${item}` : ''}`);
	return page;
}

async function saved(page, button) {
	const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
	return readFileSync(await file.path(), 'utf8');
}

async function numbers(page, panel, pool) {
	const row = page.getByRole('region', { name: panel, exact: true }).getByRole('row', { name: new RegExp(`^${pool} `) });
	const [mean, least, most, last] = (await row.getByRole('cell').allTextContents()).map(Number);
	return { mean, least, most, last };
}

export const tests = {
	async 'what is drawn is what the journal says'(browser) {
		await handOver();
		// the load is told once: a slow machine may have given the node back by now
		await until('the series', () => {
			const t = timeline(), shown = poolOf(t, 'pages')?.values.nodes ?? [];
			return shown.includes(2) && shown.at(-1) === held('pages') && sum(poolOf(t, 'queue').values.kills) === wholeKills;
		}, () => JSON.stringify([wholeKills, held('pages'), timeline().pools]));
		await pause(1500);
		const now = Date.now();
		const page = await open(browser, 'root', `${from}-${now}`);
		await page.getByText('by moments').waitFor();
		const pages = await numbers(page, 'Nodes of each pool', 'pages'), queue = await numbers(page, 'Nodes of each pool', 'queue');
		const there = api('/v1/nodes').nodes;
		assert.equal(pages.last, there.filter((n) => n.pool === 'pages').length);
		assert.equal(queue.last, there.filter((n) => n.pool === 'queue').length);
		assert.deepEqual([pages.most, queue.most], [2, 3]);
		// the mean is that of the events: who had which node, from when until when
		const { holdings } = api(`/v1/timeline/nodes?from=${from}&until=${now}`);
		const long = sum(holdings.filter((h) => h.pool === 'queue').map((h) => (h.until_ms ?? now) - Math.max(h.from_ms, from)));
		const answer = timeline(`&from=${from}&until=${now}`), row = poolOf(answer, 'queue');
		const drawn = sum(row.at_ms.map((at, i) => (at >= from ? row.values.nodes[i] * row.covered_ms[i] : 0)));
		assert.ok(Math.abs(long - drawn) <= 3 * 3000, `by events ${long} node ms, by series ${drawn}`); // of three nodes at most a turn each
		const kills = page.getByRole('region', { name: 'List of kills' });
		const said = phx('re', 'history', 'queue').split('\n').filter((l) => l.includes(' is killed'));
		assert.equal(said.length, wholeKills);
		assert.equal(await kills.getByRole('row').count(), wholeKills + 1);
		const text = (await kills.getByRole('row').last().getByRole('cell').last().textContent()).trim();
		assert.ok(said.some((l) => l.includes(text)), `${text} is not in ${said}`);
		assert.ok((await numbers(page, 'Jobs killed for their nodes', 'queue')).most >= 1);
		// response time: of the jobs that ended, from submission to end
		const jobs = api('/v1/jobs').jobs.filter((j) => j.re === 'queue');
		assert.deepEqual([sum(row.values.ended), sum(row.values.turnaround)], [3, sum(jobs.map((j) => j.ended_ms - j.submitted_ms))]);
		assert.equal((await numbers(page, 'Jobs that run', 'queue')).most, 3);
		await page.locator('.chart canvas').first().waitFor();
		await accessible(page);
		await picture(page, 'timeline');
		await page.getByRole('region', { name: 'Who held which nodes' }).scrollIntoViewIfNeeded();
		await picture(page, 'timeline-nodes');
		assert.deepEqual(page.wrong, []);
	},

	async 'who held a node is seen, and when'(browser) {
		const page = await open(browser, 'root', '10m');
		const list = page.getByRole('region', { name: 'Who held which nodes' }).getByRole('listitem');
		await list.nth(5).waitFor();
		const moved = api(`/v1/timeline/nodes?from=${from}&until=${Date.now()}`).holdings.filter((h) => h.pool === 'pages' || h.pool === 'queue').map((h) => h.node);
		const both = moved.find((n, i) => moved.indexOf(n) !== i);
		assert.ok(both, 'no node was in both pools');
		const row = list.filter({ hasText: new RegExp(`^${both}`) });
		assert.match(await row.textContent(), /queue from .* until .*, pages from .* on/);
		assert.ok(await row.locator('rect').count() >= 3);
	},

	async 'the keyboard zooms and moves, and back goes back'(browser) {
		const page = await open(browser, 'root', '');
		await page.getByRole('region', { name: /^Time: / }).focus();
		const at = () => page.evaluate(() => location.hash);
		await page.keyboard.press('+');
		await page.waitForFunction(() => location.hash === '#/timeline/10m');
		await page.keyboard.press('+');
		await page.waitForFunction(() => location.hash === '#/timeline/1m');
		await page.getByText('by moments').waitFor();
		for (const name of ['10m', '1h', '6h', '1d', '1w', '1M', '1y']) {
			await page.keyboard.press('-');
			await page.waitForFunction((to) => location.hash === `#/timeline/${to}`, name);
		}
		await page.getByText('by days').waitFor();
		await picture(page, 'timeline-year');
		await page.goBack();
		await page.waitForFunction(() => location.hash === '#/timeline/1M');
		await page.getByText('by hours').waitFor();
		await page.getByRole('combobox', { name: /^Show/ }).selectOption('10m');
		await page.getByText('by moments').waitFor();
		await page.getByRole('region', { name: /^Time: / }).focus();
		await page.keyboard.press('ArrowLeft');
		await page.waitForFunction(() => /^#\/timeline\/\d+-\d+$/.test(location.hash));
		const [begin, end] = (await at()).match(/\d+/g).map(Number);
		assert.equal(end - begin, 600_000);
		await page.keyboard.press('+');
		await page.waitForFunction((old) => location.hash !== old, `#/timeline/${begin}-${end}`);
		const [closer, closerEnd] = (await at()).match(/\d+/g).map(Number);
		assert.equal(closerEnd - closer, 300_000);
		assert.ok(closer > begin && closerEnd < end);
		await page.keyboard.press('Home');
		await page.waitForFunction(() => location.hash === '#/timeline/1h');
		assert.deepEqual(page.wrong, []);
	},

	async 'what is saved is what the head told'(browser) {
		const now = Date.now(), page = await open(browser, 'root', `${from}-${now}`);
		await page.getByText('by moments').waitFor();
		const answer = api(`/v1/timeline?from=${from}&until=${now}&points=800`);
		const [head, ...rows] = (await saved(page, 'Save as CSV')).trim().split('\n').map((l) => l.split(','));
		assert.equal(rows.length, sum(answer.pools.map((p) => p.at_ms.length)));
		for (const row of rows) {
			const of = Object.fromEntries(head.map((name, i) => [name, row[i]])), pool = poolOf(answer, of.pool), i = pool.at_ms.indexOf(Number(of.at_ms));
			assert.ok(i >= 0, `${of.pool} at ${of.at_ms}`);
			for (const [name, values] of Object.entries(pool.values))
				assert.equal(of[name], values[i] === null ? '' : String(values[i]), name);
			for (const [name, values] of Object.entries(pool.most))
				assert.equal(of[`${name}_most`], String(values[i]), name);
		}
		const svg = await saved(page, 'Save as SVG');
		const heights = await page.evaluate((text) => {
			const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
			return [...drawing.querySelector('#nodes [data-pool=queue]').getAttribute('d').matchAll(/ ([\d.]+)H/g)].map((m) => Number(m[1]));
		}, svg);
		const [, base] = /<g id="nodes">.*?V(\d+)H/.exec(svg), most = Math.max(...answer.pools.flatMap((p) => p.values.nodes));
		const steps = poolOf(answer, 'queue').values.nodes.filter((v) => v !== null).filter((v, i, all) => v !== all[i - 1]);
		assert.deepEqual(heights.map((y) => Math.round((Number(base) - y) / 160 * most)), steps);
	},

	async 'what would have been is simulated as a job, and drawn beside what was'(browser) {
		const page = await open(browser, 'root', `${from}-${Date.now()}`);
		const asked = page.getByRole('region', { name: 'What if' });
		await asked.getByLabel('More nodes').fill('2');
		await asked.getByLabel('Model').selectOption('dr');
		await asked.getByLabel('Nodes are erased').check();
		const sent = [];
		page.on('request', (r) => r.method() === 'POST' && sent.push(r.url()));
		await asked.getByRole('button', { name: 'Simulate it' }).dblclick();
		const table = asked.getByRole('table', { name: /^Simulated, 3 jobs/ });
		await table.waitFor();
		assert.equal(sent.length, 1); // a form sent twice is sent once
		await table.getByRole('columnheader', { name: 'with 2 more nodes, dr, wipe' }).waitFor();
		const { questions } = api('/v1/what-if'), { answer } = api(`/v1/what-if/${questions[0].id}`);
		assert.deepEqual([answer.nodes_changed - answer.nodes, questions[0].wish.model, questions[0].wish.wipes], [2, 'dr', true]);
		const row = (await table.getByRole('row', { name: /^Mean wait/ }).getByRole('cell').allTextContents()).map(Number);
		assert.deepEqual(row, ['agreed', 'changed'].map((s) => Number((answer[s].total.mean_wait_s ?? 0).toFixed(1))));
		// side by side, by the same drawing: its numbers are those of the answer
		for (const [title, most] of [['as it was', 3], ['with 2 more nodes, dr, wipe', Math.max(...answer.changed.pools.find((p) => p.pool === 'queue').values.nodes)]]) {
			const shown = (await numbers(page, `Nodes of each pool, ${title}`, 'queue')).most;
			assert.ok(Math.abs(shown - most) <= 0.01, `${title}: ${shown} is not ${most}`);
		}
		const csv = (await saved(page, 'Save the simulation as CSV')).trim().split('\n');
		assert.equal(csv.length, 1 + sum(answer.changed.pools.map((p) => p.at_ms.length)));
		assert.match(await saved(page, 'Save the simulation as SVG'), /data-pool="queue"/);
		await accessible(page);
		await asked.scrollIntoViewIfNeeded();
		await picture(page, 'timeline-what-if');
		await page.reload(); // the address names the question
		await table.waitFor();
		assert.deepEqual(page.wrong, []);
		// fewer nodes than are promised
		await asked.getByRole('spinbutton', { name: 'More nodes' }).fill('-3');
		await asked.getByRole('button', { name: 'Simulate it' }).click();
		await asked.getByRole('alert').getByText(/The cluster could not have been so: /).waitFor();
	},

	async 'a simulation shows how far it is, and is cancelled by the keyboard'(browser) {
		const page = await open(browser, 'root', `0-${Date.now()}`); // checks once a minute for half a century
		const asked = page.getByRole('region', { name: 'What if' });
		await asked.getByLabel('Model').selectOption('dr');
		await asked.getByRole('button', { name: 'Simulate it' }).focus();
		await page.keyboard.press('Enter');
		await asked.getByRole('progressbar', { name: 'Simulates' }).waitFor();
		await page.waitForFunction(() => Number(document.querySelector('progress')?.value) >= 50);
		await accessible(page);
		await picture(page, 'timeline-what-if-progress');
		await asked.getByRole('button', { name: 'Cancel it' }).focus();
		await page.keyboard.press('Enter');
		await asked.getByText('Cancelled.').waitFor();
		await asked.getByRole('button', { name: 'Close' }).click();
		await page.waitForFunction(() => !location.hash.includes('what-if'));
		assert.deepEqual(page.wrong, []);
	},

	async 'who may not know of it sees no page, and is told nothing'(browser) {
		const page = await open(browser, 'nobody', '1h');
		await page.getByRole('heading', { name: 'Cluster' }).waitFor();
		assert.equal(await page.getByRole('link', { name: 'Time-line' }).count(), 0);
		for (const path of ['/v1/timeline', '/v1/timeline/kills', '/v1/timeline/nodes'])
			assert.equal(await page.evaluate(async (p) => (await fetch(p)).status, path), 403, path);
		// one who has runtime environments of his own is told of those: he has none
		const owner = await open(browser, 'games', '1h');
		await owner.getByText('Nothing is known of this time').waitFor();
		assert.equal(await owner.getByRole('region', { name: 'What if' }).count(), 0); // that is for who may search the journal
		const told = await owner.evaluate(async () => Promise.all(['', '/kills', '/nodes'].map(async (p) => (await fetch(`/v1/timeline${p}`)).json())));
		assert.deepEqual([told[0].pools, told[1].kills, told[2].holdings], [[], [], []]);
	},
};
