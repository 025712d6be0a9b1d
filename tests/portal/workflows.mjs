// What is drawn is submitted and seen running on real agents, held, cancelled and resumed; what one who may not is shown; a thousand tasks.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accessible, picture } from './browser.mjs';
import { active, api, conf, draw, fields, imported, kept, open, parents, right, sheet, submit, walkTo, work } from './flow.mjs';

export const tests = {
	async 'it is submitted, colours itself as it runs, and a task\'s output is read'(browser) {
		const page = await draw(browser);
		const slow = conf.replace('cat a.out', 'while ! test -e go; do sleep 0.2; done; cat a.out');
		await imported(page, 'six.conf', slow);
		await right(page, 'Nothing is wrong');
		const id = await submit(page);
		assert.equal(api(`/v1/workflows/${id}`).user, 'nobody');
		await page.getByRole('button', { name: 'running 1' }).waitFor();
		await page.getByRole('button', { name: 'done 3' }).waitFor();
		await walkTo(page, 'c', 'Tasks');
		assert.match(await active(page).textContent(), /^c, running, on n[12]/);
		await accessible(page);
		await picture(page, 'workflow-runs');
		await walkTo(page, 'b', 'Tasks');
		await page.keyboard.press('Enter');
		await fields(page).getByText('<b>said of b</b>').waitFor();
		await accessible(page);
		writeFileSync(join(work, 'shared', 'go'), '');
		await page.getByText('6 of 6 tasks').waitFor();
		await page.getByRole('button', { name: 'done 6' }).waitFor();
		await picture(page, 'workflow-done');
		assert.equal(await page.getByRole('button', { name: 'Cancel it' }).count(), 0);
		await page.reload();
		await page.getByText('6 of 6 tasks').waitFor();
		await page.getByRole('button', { name: 'All runs' }).click();
		await page.getByRole('row', { name: /six/ }).getByText('done').first().waitFor();
		await accessible(page);
		await picture(page, 'workflows');
		await page.goBack();
		await page.getByText('6 of 6 tasks').waitFor();
		assert.deepEqual(page.wrong, []);
	},

	async 'a run is held, released, cancelled and resumed, and drawn on'(browser) {
		const page = await draw(browser);
		await imported(page, 'wait.conf', 'name = "wait"; tasks = ( { id = "w"; cores = 1; command = [ "/bin/sh", "-c", "echo begun; test -e now || sleep 300" ]; },'
			+ '{ id = "x"; cores = 1; command = [ "true" ]; parents = [ "w" ]; } );');
		await right(page, 'Nothing is wrong: 2 tasks');
		const id = await submit(page);
		const press = (name) => page.getByRole('button', { name, exact: true }).click();
		const status = (word) => page.locator('dl .state').first().getByText(word, { exact: true }).waitFor();
		await press('Hold it');
		await status('held');
		await press('Release it');
		await status('active');
		await page.getByRole('button', { name: 'running 1' }).waitFor();
		await walkTo(page, 'w', 'Tasks');
		await page.keyboard.press('Enter');
		await page.getByLabel('tail').waitFor();
		await fields(page).getByText('begun', { exact: true }).waitFor();
		await press('Cancel it');
		await status('cancelled');
		writeFileSync(join(work, 'shared', 'now'), '');
		await press('Resume it');
		await status('done');
		assert.equal(api(`/v1/workflows/${id}`).n_resumes, 1);
		await press('Draw a copy');
		await right(page, 'Nothing is wrong: 2 tasks');
		assert.deepEqual(parents(await kept(page), 'x'), ['w']);
		assert.deepEqual(page.wrong, []);
	},

	async 'one who may not see a run is told nothing of it, and who submits nothing draws nothing'(browser) {
		const { workflows: [{ id }] } = api('/v1/workflows');
		const other = await open(browser, 'daemon');
		await other.getByText('There are no runs of workflows that you may see').waitFor();
		await other.goto(`${other.url().replace(/#.*/, '')}#/workflows/${id}`);
		await other.getByRole('alert').getByText('there is no such workflow run').waitFor();
		const refused = await other.evaluate(async (run) => {
			const { token } = await (await fetch('/v1/session')).json();
			const ask = (path, body) => fetch(path, { method: 'POST', headers: { 'Phoenix-Token': token }, body }).then((a) => a.status);
			return [await ask(`/v1/workflows/${run}/cancel`, '{}'), (await fetch(`/v1/workflows/${run}/text`)).status, await ask('/v1/workflows/check', '')];
		}, id);
		assert.deepEqual(refused, [404, 404, 400]);
		// the owner of the RE sees and may hold what runs there, and does not read what it printed
		const owner = await open(browser, 'games', `/${id}`);
		await owner.getByText('6 of 6 tasks').waitFor();
		await walkTo(owner, 'b', 'Tasks');
		await owner.keyboard.press('Enter');
		await fields(owner).getByText('once').waitFor();
		assert.equal(await fields(owner).getByRole('heading', { name: 'Output' }).count(), 0);
	},

	async 'a thousand tasks are drawn, and walked through'(browser) {
		const page = await draw(browser);
		const tasks = [...Array(1000).keys()].map((i) => `{ id = "t${i}"; command = [ "true" ]; parents = [ ${i < 200 ? '' : `"t${i % 200}", "t${(i * 7) % 200}"`} ]; }`);
		await imported(page, 'many.conf', `name = "many"; tasks = (\n${tasks.join(',\n')}\n);`);
		await right(page, 'Nothing is wrong: 1000 tasks');
		await page.getByRole('button', { name: 'Submit …' }).click();
		await page.getByRole('dialog').getByLabel('hold it back').check();
		await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click();
		await page.getByRole('button', { name: 'ready 200' }).waitFor();
		await page.getByRole('button', { name: 'All', exact: true }).click();
		await page.getByLabel('Find').fill('t999');
		await page.getByRole('button', { name: 't999' }).click();
		await fields(page).getByRole('heading', { name: 't999' }).waitFor();
		await sheet(page, 'Tasks').focus();
		for (const key of ['ArrowUp', 'ArrowLeft', 'ArrowRight', 'ArrowDown', '+', '0'])
			await page.keyboard.press(key);
		const paints = await page.evaluate(() => performance.getEntriesByName('portal-flow-paint').map((m) => m.duration).sort((a, b) => b - a));
		console.log(`# 1000 tasks, ${paints.length} paints, longest ${paints.slice(0, 3).map((t) => t.toFixed(1)).join(', ')} ms`);
		await accessible(page);
		await picture(page, 'workflow-1000');
		assert.ok(paints[0] <= 250, `a paint took ${paints[0]} ms`);
		await page.getByRole('button', { name: 'Cancel it' }).click();
		assert.deepEqual(page.wrong, []);
	},
};
