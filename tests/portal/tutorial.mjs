// Carries out phoenix-tutorial(7) as it stands: its sentences are the acts, so that it cannot say what is not so. Leaves it with its pictures as
// $BUILD/portal/pictures/tutorial.md.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { accessible, picture, signIn } from './browser.mjs';
import { connectByKey, taskByKey, work } from './flow.mjs';
import { api, until } from './head.mjs';

const build = resolve(process.env.BUILD);
const text = readFileSync('cmd/portal/phoenix-tutorial.7.scd', 'utf8');
const steps = text.split('# STEPS\n')[1].split('# SEE ALSO')[0].split(/^## /m).slice(1);
// where the tutorial names a directory of a site, the test has one of its own
const here = (words) => words.replaceAll('/srv/flows', `${work}/shared`);
const plain = (words) => words.replace(/\\(.)/g, '$1').replace(/\s+/g, ' ');
const within = async (page) => (await page.locator('dialog:modal').count() ? page.getByRole('dialog') : page);

async function fill(page, value, label) {
	const field = (await within(page)).getByLabel(label, { exact: true });
	await field.first().fill(here(value));
}

async function open(page, name) {
	if (name === 'the last run')
		await page.getByRole('region', { name: 'Triggers' }).getByRole('link').first().click();
	else
		await page.getByRole('link', { name, exact: true }).or(page.getByRole('button', { name, exact: true })).first().click();
}

// As soon as triggers are watched, which a person is slower than.
async function run(user, words) {
	for (const { name } of api('/v1/triggers').triggers)
		await until(`${name} is watched`, () => /^watches/.test(api(`/v1/triggers/${name}`).watch));
	const dir = join(work, 'home');
	mkdirSync(dir, { recursive: true });
	writeFileSync(join(dir, 'x.fits'), 'stars\n', { mode: 0o644 });
	execFileSync('setpriv', ['--reuid', user, '--regid', 'nogroup', '--clear-groups', 'sh', '-ec', words], { cwd: dir, env: { ...process.env, PATH: `${build}/bin:${process.env.PATH}` } });
}

const BOLD = '\\*((?:\\\\.|[^*\\\\])+)\\*', UNDER = '_((?:\\\\.|[^_\\\\])+)_', BLOCK = '```\\n([\\s\\S]*?)```';
const verb = (pattern, act) => ({ pattern: new RegExp(pattern.replaceAll(' ', '\\s+'), 'iy'), act });
const verbs = [
	verb(`open ${BOLD}`, (page, user, name) => open(page, plain(name))),
	verb(`press ${BOLD}`, async (page, user, name) => (await within(page)).getByRole('button', { name: plain(name), exact: true }).click()),
	// the time-line has a minute when it is over, and an RE its first whole one
	verb(`see ${BOLD}`, (page, user, words) => page.getByText(plain(words)).first().waitFor({ timeout: 150000 })),
	verb(`type ${UNDER} into ${BOLD}`, (page, user, value, label) => fill(page, plain(value), plain(label))),
	verb(`type this into ${BOLD}:\\s+${BLOCK}`, (page, user, label, block) => fill(page, block, plain(label))),
	verb(`draw the task ${UNDER} \\(${UNDER}\\)`, (page, user, id, command) => taskByKey(page, plain(id), plain(command))),
	verb(`connect ${UNDER} to ${UNDER}`, (page, user, from, to) => connectByKey(page, plain(from), plain(to))),
	verb(`run:\\s+${BLOCK}`, (page, user, words) => run(user, words)),
	verb(`\\(picture ${UNDER}\\)`, async (page, user, name) => { await accessible(page); await picture(page, `tutorial-${name}`); }),
];

// The acts of a step, in its order; every word that is bold there is one of an act's.
function actsOf(step) {
	const acts = [];
	let rest = step;
	for (let at = 0; at < step.length; at++) {
		if (/\w/.test(step[at - 1] ?? ' '))
			continue;
		for (const { pattern, act } of verbs) {
			pattern.lastIndex = at;
			const found = pattern.exec(step);
			if (!found)
				continue;
			acts.push({ words: plain(found[0]), act, said: found.slice(1) });
			rest = rest.replace(found[0], '');
			at += found[0].length - 1;
			break;
		}
	}
	assert.deepEqual(rest.match(/\*[^*]+\*/g), null, 'the tutorial has it, and nobody does it');
	return acts;
}

// Each person keeps his browser from step to step.
const pages = new Map();
async function pageOf(browser, user) {
	if (!pages.has(user))
		pages.set(user, await signIn(browser, user));
	return pages.get(user);
}

async function carryOut(browser, step) {
	const user = /^As _(\w+)_/m.exec(step)[1], page = await pageOf(browser, user);
	for (const { words, act, said } of actsOf(step))
		await act(page, user, ...said).catch((e) => { throw new Error(`"${words}": ${e.message}`); });
}

export const tests = {
	async 'the tutorial is so: each of its steps is carried out as it stands'(browser) {
		assert.equal(steps.length, 7);
		for (const step of steps)
			await carryOut(browser, step).catch((e) => { throw new Error(`${step.split('\n')[0]}: ${e.message}`); });
		const made = execFileSync('find', [join(work, 'shared'), '-name', 'count.out'], { encoding: 'utf8' }).trim();
		assert.match(readFileSync(made, 'utf8'), /^2\s*$/);
		const shown = text.replace(/\(picture _(\w+)_\)/g, '\n\n![$1](tutorial-$1-light.png)\n\n').replace(/^phoenix-tutorial\(7\)\n/, '');
		writeFileSync(join(build, 'portal', 'pictures', 'tutorial.md'), shown);
		for (const page of pages.values())
			assert.deepEqual(page.wrong, []);
	},
};
