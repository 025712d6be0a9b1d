// What is drawn is submitted by itself: by a file that comes, or by who calls; its triggers are seen, paused, fired and deleted.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, picture } from './browser.mjs';
import { api, draw, imported, open, right, work } from './flow.mjs';

const phx = (user, ...args) => execFileSync('setpriv', ['--reuid', user, '--regid', 'games', '--clear-groups', join(process.env.BUILD, 'bin/phx'), ...args], { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
const put = (name) => {
	const file = join(work, 'home', 'came');
	writeFileSync(file, `${name}\n`, { mode: 0o644 });
	phx('nobody', 're', 'put', 'flows', file, `in/${name}`);
};
const row = (page, name) => page.getByRole('region', { name: 'Triggers' }).getByRole('row', { name: new RegExp(`^${name} `) });
const press = (page, act, name) => page.getByRole('button', { name: `${act} ${name}`, exact: true }).click();
async function drawn(browser) {
	const page = await draw(browser);
	await imported(page, 'came.conf', 'name = "came"; tasks = ( { id = "a"; cores = 1; command = [ "/bin/sh", "-c", "echo $PHX_TRIGGER_FILE >>came.txt" ]; } );');
	await right(page, 'Nothing is wrong: one task');
	await page.getByRole('button', { name: 'Trigger …' }).click();
	return page;
}
const field = (page, label) => page.getByRole('dialog').getByLabel(label);

export const tests = {
	async 'a file that comes has the workflow submitted, and its trigger is paused, fired and deleted'(browser) {
		const page = await drawn(browser);
		await field(page, 'Name of the trigger').fill('arrived');
		await page.getByRole('textbox', { name: 'File' }).fill('in/../*.fits');
		await page.getByRole('button', { name: 'Set it' }).click();
		await page.getByRole('dialog').getByRole('alert').waitFor(); // and nothing of the form is lost
		assert.equal(await field(page, 'Name of the trigger').inputValue(), 'arrived');
		await page.getByRole('textbox', { name: 'File' }).fill('in/*.fits');
		await field(page, 'While a run of it goes on').selectOption('queue');
		await accessible(page);
		await picture(page, 'trigger-form');
		await page.getByRole('button', { name: 'Set it' }).dblclick(); // twice is once: the second one would say that the name is taken
		await page.getByRole('status').getByText('Trigger arrived is made.').waitFor();
		assert.equal(await page.getByRole('dialog').getByRole('alert').count(), 0);
		await page.getByRole('button', { name: 'Good' }).click();
		await row(page, 'arrived').getByText('active').waitFor();
		const told = api('/v1/triggers/arrived');
		assert.deepEqual([told.kind, told.when.file, told.when_busy, told.user], ['file', 'in/*.fits', 'queue', 'nobody']);
		for (let i = 0; i < 100 && !/^watches/.test(api('/v1/triggers/arrived').watch); i++)
			await page.waitForTimeout(100);
		put('one.fits');
		await row(page, 'arrived').getByRole('link').waitFor();
		await page.getByRole('region', { name: 'Runs' }).getByRole('row', { name: /came/ }).getByText('done').waitFor();
		assert.equal(api('/v1/triggers/arrived').n_fired, 1);
		await press(page, 'Pause', 'arrived');
		await row(page, 'arrived').getByText('paused').waitFor();
		assert.equal(await page.getByRole('button', { name: 'Fire arrived' }).count(), 0);
		await accessible(page);
		await picture(page, 'triggers');
		await press(page, 'Resume', 'arrived');
		await row(page, 'arrived').getByText('active').waitFor();
		await page.getByRole('button', { name: 'Fire arrived', exact: true }).dblclick();
		await row(page, 'arrived').getByRole('cell', { name: '2', exact: true }).first().waitFor();
		assert.equal(api('/v1/triggers/arrived').n_fired, 2); // by the file, and by hand
		await press(page, 'Delete', 'arrived');
		await page.getByRole('heading', { name: 'Triggers' }).waitFor({ state: 'detached' });
		assert.equal(api('/v1/triggers').triggers.length, 0);
		assert.deepEqual(page.wrong.filter((w) => !/status of 400/.test(w)), []);
	},

	async 'who calls has it submitted, by a token that is shown once; a name is one trigger\'s'(browser) {
		const page = await drawn(browser);
		await field(page, 'Name of the trigger').fill('called');
		await field(page, 'When').selectOption('http');
		await page.getByRole('button', { name: 'Set it' }).click();
		await page.getByText('It is shown this once').waitFor();
		const token = await page.locator('code.token').textContent();
		assert.ok(token.length >= 20);
		const calls = (word) => execFileSync('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', '-X', 'POST', '-H', `Authorization: Bearer ${word}`, `https://localhost:${new URL(page.url()).port}/hook/called`], { encoding: 'utf8' });
		assert.deepEqual([calls(`${token}x`), calls(token)], ['403', '202']);
		await accessible(page);
		await page.getByRole('button', { name: 'I have it' }).click();
		await row(page, 'called').getByText('/hook/called').waitFor();
		assert.ok(!(await page.content()).includes(token));
		const again = await drawn(browser);
		await field(again, 'Name of the trigger').fill('called');
		await field(again, 'When').selectOption('every');
		await again.getByRole('button', { name: 'Set it' }).click();
		await again.getByRole('dialog').getByRole('alert').getByText('called').waitFor();
		assert.equal(api('/v1/triggers/called').kind, 'http');
	},

	async 'one who is not of it sees no trigger, and is refused'(browser) {
		const page = await open(browser, 'daemon');
		await page.getByText('There are no runs of workflows that you may see').waitFor();
		assert.equal(await page.getByRole('heading', { name: 'Triggers' }).count(), 0);
		const refused = await page.evaluate(async () => {
			const { token } = await (await fetch('/v1/session')).json();
			const ask = (path, body) => fetch(path, { method: 'POST', headers: { 'Phoenix-Token': token }, body }).then((a) => a.status);
			return [await ask('/v1/triggers/called/delete', '{}'), await ask('/v1/triggers/called/fire', '{}')];
		});
		assert.deepEqual(refused, [404, 404]);
		assert.equal(api('/v1/triggers').triggers.length, 1);
	},
};
