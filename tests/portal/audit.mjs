// The audit's page: an order is found with its author, what proves the journal is told, an attestation is saved and proves what it says, and with
// one byte changed it does not; who may not see it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { accessible, picture, signIn } from './browser.mjs';

const curl = (...args) => execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, ...args], { encoding: 'utf8' });
const api = (path, ...args) => JSON.parse(curl(`http://unix${path}`, ...args));
const work = process.env.PORTAL_WORK, program = `${process.env.BUILD}/bin/phx`;
const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const LATE_MS = 40_000, AUDITOR = 'bin';

async function until(what, is) {
	for (const end = Date.now() + LATE_MS; Date.now() < end; await pause(100))
		if (is())
			return;
	assert.fail(`not in time: ${what}`);
}

async function open(browser, user, part) {
	const page = await signIn(browser, user);
	await page.goto(`${page.url().replace(/#.*/, '')}#/audit/${part}`);
	return page;
}

async function saved(page, button, name) {
	const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
	await file.saveAs(`${work}/${name}`);
	return `${work}/${name}`;
}

const verify = (file, key) => spawnSync(program, ['erasure', 'verify', file, '--pub', key], { encoding: 'utf8', env: { PATH: process.env.PATH } });

export const tests = {
	async 'an order is found with its author, by each way to ask'(browser) {
		// by a user whose number events have
		execFileSync('setpriv', ['--reuid=daemon', '--regid=daemon', '--init-groups', 'curl', '-sS', '--unix-socket', process.env.PHX_SOCKET,
			'http://unix/v1/jobs', '-d', '{"argv": ["audited"], "hold": true}']);
		api('/v1/actions/label', '-d', '{"nodes": "n5", "labels": {"seen": "yes"}}');
		const page = await open(browser, AUDITOR, 'journal');
		const events = page.getByRole('region', { name: 'Events' });
		await events.getByRole('row').nth(2).waitFor();
		await accessible(page);
		await picture(page, 'audit');
		const search = async (fields) => {
			for (const name of ['Node or runtime environment', 'Person'])
				await page.getByLabel(name).fill(fields[name] ?? '');
			await page.getByLabel('Kind').selectOption(fields.Kind ?? '');
			const answered = page.waitForResponse((r) => r.url().includes('/v1/journal?'));
			await page.getByRole('button', { name: 'Search' }).click();
			const { events: list } = await (await answered).json();
			await page.getByText(list.length === 1 ? 'one event' : `${list.length} events`).waitFor();
			return list;
		};
		const orders = await search({ 'Node or runtime environment': 'n5', Kind: 'node_label' });
		assert.deepEqual(orders.map((e) => [e.node, e.by, e.person]), [['n5', 'uid:0', 'root']]);
		const row = events.getByRole('row').nth(1);
		assert.match(await row.textContent(), /root \(uid:0\).*n5.*node_label/);
		await row.getByText('As it was written').click();
		await row.getByText('"seen"').waitFor();
		await picture(page, 'audit-event');
		const his = await search({ Person: 'daemon' });
		assert.ok(his.length >= 1 && his.every((e) => e.person === 'daemon'));
		assert.ok(his.some((e) => e.kind === 'job_submit'));
		const kinds = await search({ Kind: 'hello' });
		assert.ok(kinds.length >= 6 && kinds.every((e) => e.kind === 'hello'));
		assert.deepEqual(kinds.map((e) => e.seq), kinds.map((e) => e.seq).sort((a, b) => b - a));
		assert.deepEqual(page.wrong, []);
	},

	async 'older ones come in portions, and a time has its own'() {
		const all = [];
		for (let before = 0, more = true; more;) {
			const a = api(`/v1/journal?limit=20&before=${before}`);
			all.push(...a.events);
			({ before, more } = a);
		}
		assert.deepEqual(all.map((e) => e.seq).slice(-5), [5, 4, 3, 2, 1]);
		const middle = all[Math.floor(all.length / 2)].time_ms, end = all[Math.floor(all.length / 4)].time_ms;
		const some = api(`/v1/journal?limit=200&from=${middle}&until=${end}`).events.map((e) => e.seq);
		assert.deepEqual(some, all.filter((e) => e.time_ms >= middle && e.time_ms < end).slice(0, 200).map((e) => e.seq));
		assert.equal(JSON.parse(curl('http://unix/v1/journal?kind=nonsense')).code, 'EINVAL');
	},

	async 'what proves the journal is told, and a copy is verified with what is saved'(browser) {
		await until('an anchor', () => api('/v1/anchors').anchors.length || (api('/v1/actions/label', '-d', '{"nodes": "n5", "labels": {"seen": "again"}}'), false));
		const page = await open(browser, AUDITOR, 'chain');
		const region = page.getByRole('region', { name: 'The journal\'s chain' });
		const state = api('/v1/journal/state'), [anchor] = api('/v1/anchors').anchors.sort((a, b) => b.seq - a.seq);
		await region.getByText(state.journal).waitFor();
		await region.getByText(`event ${anchor.seq},`).waitFor();
		await region.getByText(`events up to ${state.verified},`).waitFor();
		await accessible(page);
		await picture(page, 'audit-chain');
		const key = await saved(page, region.getByRole('button', { name: 'Save the site\'s key' }), 'saved-site.pub');
		const anchors = await saved(page, region.getByRole('button', { name: 'Save the head\'s anchors' }), 'saved-anchors');
		execFileSync('sqlite3', [`${work}/head/journal.db`, `.backup ${work}/copy.db`]);
		const said = spawnSync(program, ['journal', 'verify', '--journal', `${work}/copy.db`, '--anchors', anchors, '--pub', key], { encoding: 'utf8' });
		assert.equal(said.status, 0, said.stdout + said.stderr);
		assert.deepEqual(page.wrong, []);
	},

	async 'an attestation proves an erase, and with a changed byte nothing'(browser) {
		writeFileSync(`${work}/n6/disks`, 'shown\n');
		api('/v1/actions/assign', '-d', '{"nodes": "n6", "role": "batch"}');
		await until('n6 serves', () => api('/v1/nodes/n6').state === 'active');
		api('/v1/actions/release', '-d', '{"nodes": "n6", "setup": {"mode": "wipe"}}');
		await until('an attestation', () => api('/v1/erasures?node=n6').erasures.length === 1);
		const page = await open(browser, AUDITOR, 'erasures');
		await page.getByLabel('Of node').fill('n6');
		await page.getByRole('button', { name: 'Show', exact: true }).click();
		const list = page.getByRole('region', { name: 'List of attestations' });
		await list.getByRole('cell', { name: 'n6', exact: true }).waitFor();
		const key = await saved(page, page.getByRole('button', { name: 'Save the key' }), 'saved-attest.pub');
		const file = await saved(page, list.getByRole('button', { name: /^Save attestation/ }), 'saved-attestation');
		const good = verify(file, key);
		assert.equal(good.status, 0, good.stdout + good.stderr);
		await page.getByLabel('Attestation', { exact: true }).setInputFiles(file);
		await page.getByText('saved-attestation: OK: attestation').waitFor();
		await accessible(page);
		await picture(page, 'audit-attestations');
		const { text } = api('/v1/erasures/n6'), at = text.indexOf('"from_owner":"') + '"from_owner":"'.length;
		writeFileSync(`${work}/altered`, text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1));
		const bad = verify(`${work}/altered`, key);
		assert.equal(bad.status, 1, bad.stdout);
		await page.getByLabel('Attestation', { exact: true }).setInputFiles(`${work}/altered`);
		await page.getByText(/altered: NO: /).waitFor();
		await list.getByRole('button', { name: /^Check attestation/ }).click();
		await page.getByText(/attestation \d+: OK: /).waitFor();
		assert.deepEqual(page.wrong, []);
	},

	async 'who is no auditor sees no page, and is refused'(browser) {
		for (const user of ['nobody', 'games']) {
			const page = await open(browser, user, 'journal');
			await page.getByRole('heading', { name: 'Cluster' }).waitFor();
			assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0, user);
			for (const path of ['/v1/journal', '/v1/journal/state', '/v1/journal?who=root'])
				assert.equal(await page.evaluate(async (p) => (await fetch(p)).status, path), 403, `${user} ${path}`);
		}
	},
};
