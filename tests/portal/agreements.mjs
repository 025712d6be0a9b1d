// Agreements: one is written by keyboard and told what is wrong with it, asked for, refused with a word, granted, lived and ended; who may not do
// what; twice is once; the head started again under a form that is half written.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, linkOf, picture, signIn } from './browser.mjs';
import { api, post, startHead, status, stopHead, until } from './head.mjs';

const work = process.env.PORTAL_WORK;
const phx = join(process.env.BUILD, 'bin', 'phx');
const aside = (page, name) => page.getByRole('complementary', { name: `RE ${name}` });
const acts = (page) => page.getByRole('group', { name: 'What may be done' }).getByRole('button').allTextContents();
const re = (name) => api(`/v1/res/${name}`);
const count = (kind, after) => api(`/v1/events?after=${after}&limit=1000`).events.filter((e) => e.kind === kind).length;

async function open(browser, user, name = '') {
	const page = await signIn(browser, user);
	await page.getByRole('link', { name: 'Agreements' }).click();
	await page.getByRole('heading', { name: 'Agreements' }).waitFor();
	if (name)
		await page.getByRole('link', { name, exact: true }).click();
	return page;
}

async function tabTo(page, id) {
	for (let i = 0; i < 80; i++) {
		if (await page.evaluate(() => document.activeElement?.id) === id)
			return;
		await page.keyboard.press('Tab');
	}
	assert.fail(`the keyboard does not get to ${id}`);
}

// What the page tells, and what phx re check says of the same text.
async function sameAsCheck(page) {
	const file = join(work, 'form.conf');
	writeFileSync(file, await page.getByLabel('Agreement', { exact: true }).inputValue());
	const { findings } = JSON.parse(spawnSync(phx, ['re', 'check', '-o', 'json', file], { encoding: 'utf8' }).stdout);
	const want = findings.map((f) => `${f.line ? `line ${f.line}: ` : ''}${f.field ? `${f.field}: ` : ''}${f.text}`);
	assert.ok(want.length >= 2, 'nothing to compare');
	assert.deepEqual(await page.locator('.findings button').allTextContents(), want);
}

const good = (page) => page.getByText('Nothing is wrong with it.').waitFor();
const conf = (name) => `name = "${name}"; relationship = "affiliated"; type = "parallel_batch_jobs"; role = "batch";\nlower_bound_size = 2; upper_bound_size = 2;\n`;

async function write(page, text) {
	await page.getByRole('button', { name: 'Ask for an RE' }).click();
	await page.getByRole('button', { name: 'Text', exact: true }).click();
	await page.getByLabel('Agreement', { exact: true }).fill(text);
	await good(page);
}

export const tests = {
	async 'a form is filled by keyboard, and told what is wrong as phx re check tells it'(browser) {
		const page = await open(browser, 'games');
		await page.getByText('There is no runtime environment that you may see').waitFor();
		await page.getByRole('button', { name: 'Ask for an RE' }).focus();
		await page.keyboard.press('Enter');
		await page.locator('#f-name').waitFor();
		await page.locator('main').focus();
		await tabTo(page, 'f-name');
		await page.keyboard.type('grid');
		await tabTo(page, 'f-lower_bound_size');
		await page.keyboard.type('two');
		await tabTo(page, 'f-upper_bound_size');
		await page.keyboard.type('0');
		await page.getByRole('button', { name: /^line \d+: lower_bound_size: 'two' must be a whole number/ }).waitFor();
		assert.equal(await page.locator('#f-lower_bound_size').getAttribute('aria-invalid'), 'true');
		assert.equal(await page.getByRole('button', { name: 'Ask for it' }).isDisabled(), true);
		await accessible(page);
		await picture(page, 'agreement-form');
		await page.getByRole('button', { name: 'Text', exact: true }).click();
		await page.getByLabel('Agreement', { exact: true }).waitFor();
		await sameAsCheck(page);
		await accessible(page);
		await picture(page, 'agreement-text');
		// what only the head knows has its line, too
		await page.getByLabel('Agreement', { exact: true }).fill(conf('grid').replace('"batch"', '"nonesuch"'));
		await page.getByRole('button', { name: "line 1: role: there is no role 'nonesuch'" }).waitFor();
		await page.getByLabel('Agreement', { exact: true }).fill('name = ;');
		await page.getByRole('button', { name: /^line 1: / }).waitFor();
		await page.getByLabel('Agreement', { exact: true }).fill(conf('grid'));
		await good(page);
		await page.getByRole('button', { name: 'Form', exact: true }).click();
		assert.equal(await page.locator('#f-lower_bound_size').inputValue(), '2');
		await page.locator('#f-type').selectOption('web_service');
		await page.locator('#f-threshold').waitFor({ state: 'attached' });
		await page.locator('#f-type').selectOption('parallel_batch_jobs');
		await good(page);
		const before = api('/v1/status').seq;
		await page.locator('#f-lower_bound_size').focus();
		// twice, as a key that is held down
		await page.keyboard.press('Enter');
		await page.keyboard.press('Enter');
		await aside(page, 'grid').getByText('requested').first().waitFor();
		assert.equal(count('re_request', before), 1);
		assert.equal(re('grid').agreement.owner, 'unix:games');
		assert.deepEqual(await acts(page), ['Take the request back']);
		await accessible(page);
		assert.deepEqual(page.wrong, []);
	},

	async 'the provider refuses with a word, which who asked reads, and grants what is asked for again'(browser) {
		const games = await open(browser, 'games', 'grid');
		const root = await open(browser, 'root', 'grid');
		await aside(root, 'grid').getByText('requested').first().waitFor();
		await root.getByRole('button', { name: 'Grant it' }).waitFor();
		assert.deepEqual(await acts(root), ['Grant it', 'Refuse it …']);
		await root.getByRole('button', { name: 'Refuse it …' }).click();
		const dialog = root.getByRole('dialog');
		assert.equal(await dialog.getByRole('button', { name: 'Refuse it' }).isDisabled(), true);
		await dialog.getByLabel('Why').fill('not before <b>May</b>');
		await accessible(root);
		await picture(root, 'agreement-refuse');
		await dialog.getByRole('button', { name: 'Refuse it' }).click();
		const refused = games.getByRole('region', { name: 'Refused' });
		await refused.getByText('not before <b>May</b>').waitFor();
		await accessible(games);
		await picture(games, 'agreement-refused');
		const said = execFileSync('setpriv', ['--reuid=games', '--regid=games', '--init-groups', phx, 're', 'history', 'grid'], { encoding: 'utf8' });
		assert.match(said, /the request for RE grid is refused: not before <b>May<\/b>/);
		assert.equal(await status(games, 'POST', '/v1/res/grid/create'), 404);
		await write(games, conf('grid'));
		await games.getByRole('button', { name: 'Ask for it' }).dblclick();
		await games.getByRole('button', { name: 'Take the request back' }).waitFor();
		await refused.waitFor({ state: 'detached' });
		await root.getByRole('button', { name: 'Grant it' }).click();
		await aside(games, 'grid').getByText('deployed').first().waitFor();
		await games.getByRole('button', { name: 'Activate' }).waitFor();
	},

	async 'it is activated, seen live, and its acts are those of who looks'(browser) {
		const games = await open(browser, 'games', 'grid');
		const root = await open(browser, 'root', 'grid');
		await games.getByRole('button', { name: 'Activate' }).waitFor();
		assert.deepEqual(await acts(games), ['Activate']);
		await root.getByRole('button', { name: 'Destroy …' }).waitFor();
		assert.deepEqual(await acts(root), ['Destroy …']);
		const before = api('/v1/status').seq;
		await games.getByRole('button', { name: 'Activate' }).dblclick();
		await aside(root, 'grid').getByText('running').first().waitFor();
		assert.equal(count('re_activate', before), 1);
		await games.getByText(/^2: n/).waitFor({ timeout: 60000 });
		await games.getByRole('region', { name: 'History' }).getByText(/goes from free to grid: the RE became active/).first().waitFor();
		await games.getByRole('button', { name: 'Suspend' }).waitFor();
		assert.deepEqual(await acts(games), ['Suspend', 'Deactivate when its jobs are done', 'Deactivate …']);
		assert.deepEqual(await acts(root), []);
		await accessible(games);
		await picture(games, 'agreement');
		await games.goBack();
		await aside(games, 'grid').waitFor({ state: 'detached' });
		await games.goForward();
		await games.reload();
		await games.getByRole('button', { name: 'Suspend' }).click();
		await aside(games, 'grid').getByText('suspended').first().waitFor();
		await games.getByRole('button', { name: 'Resume' }).click();
		await games.getByRole('button', { name: 'Suspend' }).waitFor();
		assert.deepEqual([...games.wrong, ...root.wrong], []);
		assert.equal(await status(root, 'POST', '/v1/res/grid/deactivate'), 403);
		assert.equal(await status(games, 'POST', '/v1/res/grid/destroy'), 403);
		assert.equal(re('grid').state, 'running');
	},

	async 'an agreement that is written shows what it would have meant last week'(browser) {
		const page = await open(browser, 'games');
		await write(page, conf('grid2').replaceAll('= 2;', '= 1;'));
		const week = page.getByRole('region', { name: 'Last week' });
		assert.equal(await week.getByLabel('The demand of').inputValue(), 'grid');
		await week.getByRole('button', { name: 'Simulate last week' }).dblclick();
		await week.getByRole('table', { name: /^Simulated/ }).waitFor();
		const peak = await week.getByRole('row', { name: /^Most nodes at once/ }).getByRole('cell').allTextContents();
		assert.deepEqual(peak, ['2', '1']);
		await week.locator('.pair canvas').first().waitFor();
		await accessible(page);
		await week.scrollIntoViewIfNeeded();
		await picture(page, 'agreement-last-week');
		// what is wrong with it is told first
		await page.getByLabel('Agreement', { exact: true }).fill('name = ;');
		await week.getByText('Nothing may be wrong with it first.').waitFor();
		await page.getByRole('button', { name: 'Leave it' }).click();
		assert.deepEqual(page.wrong, []);
	},

	async 'files are put, fetched and removed, members named and struck out'(browser) {
		const page = await open(browser, 'games', 'grid');
		const files = page.getByRole('region', { name: 'Files' });
		await files.getByText('None.').waitFor();
		writeFileSync(join(work, 'page.html'), '<script>alert(1)</script>');
		await files.getByLabel('File').setInputFiles(join(work, 'page.html'));
		await files.getByLabel('Put as').fill('in/a page.html');
		await files.getByRole('button', { name: 'Put' }).click();
		const link = files.getByRole('link', { name: 'in/a page.html' });
		await link.waitFor();
		const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
		assert.equal(readFileSync(await download.path(), 'utf8'), '<script>alert(1)</script>');
		// opened as a page it is a file to keep all the same
		const [direct] = await Promise.all([page.waitForEvent('download'), page.evaluate(() => { location.href = '/v1/res/grid/data/in/a%20page.html'; })]);
		await direct.delete();
		await files.getByLabel('Put as').fill('../out');
		await files.getByRole('button', { name: 'Put' }).click();
		await files.getByRole('alert').waitFor();
		await picture(page, 'agreement-files');
		await files.getByRole('button', { name: 'Remove in/a page.html' }).click();
		await files.getByRole('button', { name: 'Remove for good' }).click();
		await files.getByText('None.').waitFor();
		const members = page.getByRole('region', { name: 'Members' });
		await members.getByLabel('unix:NAME').fill('daemon');
		await members.getByRole('button', { name: 'Name as a member' }).click();
		await members.getByText('unix:daemon').waitFor();
		assert.equal(re('grid').agreement.users, 'unix:daemon');
		await members.getByRole('button', { name: 'Strike out unix:daemon' }).click();
		await members.getByText('unix:daemon').waitFor({ state: 'detached' });
		await accessible(page);
	},

	async 'others see nothing of it, and are refused'(browser) {
		const page = await signIn(browser, 'nobody');
		assert.equal(await page.getByRole('link', { name: 'Agreements' }).count(), 0);
		await page.goto(`${page.url().replace(/#.*/, '')}#/agreements/grid`);
		await page.getByRole('heading', { name: 'Cluster' }).waitFor();
		assert.equal(await status(page, 'GET', '/v1/res/grid'), 404);
		assert.equal(await status(page, 'POST', '/v1/res/grid/deactivate', {}), 403);
		assert.equal(await status(page, 'POST', '/v1/agreement-check', { text: conf('grid') }), 403);
		assert.equal(await status(page, 'DELETE', '/v1/res/grid/data/x'), 404);
	},

	async 'a head that is started again keeps what was written, and the page goes on'(browser) {
		const page = await open(browser, 'games');
		await write(page, conf('later'));
		stopHead();
		await page.getByText('The head does not answer. What').waitFor();
		await picture(page, 'agreement-away');
		startHead();
		await page.getByText('The head was started again').waitFor({ timeout: 60000 });
		await page.goto(linkOf('games'));
		await page.getByRole('button', { name: 'Sign in as unix:games' }).click();
		await page.getByRole('link', { name: 'Agreements' }).click();
		await page.getByRole('button', { name: 'Ask for an RE' }).click();
		await good(page);
		assert.equal(await page.getByLabel('Agreement', { exact: true }).inputValue(), conf('later'));
		// an answer that is lost: what was asked for is there, and is not asked for again
		const before = api('/v1/status').seq;
		await page.route('**/v1/res', async (route) => {
			if (route.request().method() === 'POST') {
				await route.fetch();
				await route.abort();
				await page.unroute('**/v1/res');
			} else {
				await route.continue();
			}
		});
		await page.getByRole('button', { name: 'Ask for it' }).click();
		await page.getByRole('alert').first().waitFor();
		await page.getByRole('button', { name: 'Ask for it' }).click();
		await aside(page, 'later').getByText('requested').first().waitFor();
		assert.equal(count('re_request', before), 1);
		await page.getByRole('button', { name: 'Take the request back' }).click();
		await page.getByRole('row', { name: /later/ }).waitFor({ state: 'detached' });
	},

	async 'it is deactivated, which says whose jobs end, and destroyed by its name'(browser) {
		const { id } = post('/v1/jobs', { argv: ['sleep', '1000'], re: 'grid', user: 'games', nodes: 1, hold: true });
		const games = await open(browser, 'games', 'grid');
		const root = await open(browser, 'root', 'grid');
		await games.getByRole('button', { name: 'Deactivate …' }).click();
		await games.getByRole('dialog').getByText(`${id} of games`).waitFor();
		await accessible(games);
		await picture(games, 'agreement-deactivate');
		await games.getByRole('dialog').getByRole('button', { name: 'Leave it' }).click();
		assert.equal(re('grid').state, 'running');
		await games.getByRole('button', { name: 'Deactivate …' }).click();
		await games.getByRole('dialog').getByRole('button', { name: 'Deactivate it' }).click();
		await root.getByRole('button', { name: 'Destroy …' }).click({ timeout: 60000 });
		const dialog = root.getByRole('dialog');
		assert.equal(await dialog.getByRole('button', { name: 'Destroy it' }).isDisabled(), true);
		await dialog.getByLabel('type its name').fill('grid');
		await picture(root, 'agreement-destroy');
		await dialog.getByRole('button', { name: 'Destroy it' }).click();
		await games.getByRole('row', { name: /grid/ }).waitFor({ state: 'detached' });
		await picture(root, 'agreements');
		await until('its nodes are free', () => api('/v1/status').states.ready === 6);
	},
};
