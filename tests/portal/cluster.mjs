// The cluster's page: what is seen live, what is ordered and what a plan says before it; who may not; the head restarted under it; 10,000 nodes.
import assert from 'node:assert/strict';
import { accessible, newPage, picture, signIn } from './browser.mjs';
import { api, startHead, stopHead } from './head.mjs';

const count = (page, n) => page.getByText(`${n} nodes`, { exact: true }).waitFor();
const grid = (page) => page.getByRole('listbox', { name: 'Nodes' });

async function walkTo(page, name) {
	await grid(page).focus();
	await page.keyboard.press('Home');
	for (let i = 0; i < 20; i++) {
		if ((await page.locator('#active-node').textContent()).startsWith(`${name},`))
			return;
		await page.keyboard.press('ArrowRight');
	}
	assert.fail(`the keyboard does not get to ${name}`);
}

export const tests = {
	async 'every node is a cell, which the keyboard reaches and opens'(browser) {
		const page = await signIn(browser, 'root');
		await count(page, 6);
		await page.getByRole('button', { name: 'ready 6' }).waitFor();
		await walkTo(page, 'n3');
		await page.keyboard.press('Enter');
		const node = page.getByRole('complementary', { name: 'Node n3' });
		await node.getByText('ready').first().waitFor();
		await node.getByRole('heading', { name: 'Log' }).waitFor();
		await accessible(page);
		await picture(page, 'node');
		await page.goBack();
		await node.waitFor({ state: 'detached' });
		await page.goForward();
		await node.waitFor();
		await page.reload();
		await node.getByText('ready').first().waitFor();
		assert.deepEqual(page.wrong, []);
	},

	async 'picked nodes are assigned: the plan first, then seen live'(browser) {
		const page = await signIn(browser, 'root');
		await count(page, 6);
		await walkTo(page, 'n1');
		await page.keyboard.press('Space');
		await page.keyboard.press('ArrowRight');
		await page.keyboard.press('Space');
		await page.getByText('2 picked').waitFor();
		await page.getByLabel('Role').selectOption('batch');
		await page.getByRole('button', { name: 'Show the plan' }).click();
		const dialog = page.getByRole('dialog');
		await dialog.getByText('is destroyed').waitFor();
		assert.equal(api('/v1/nodes/n1').state, 'ready');
		await accessible(page);
		await picture(page, 'plan');
		await dialog.getByRole('button', { name: 'Leave it' }).click();
		await dialog.waitFor({ state: 'detached' });
		assert.equal(api('/v1/nodes/n1').state, 'ready');
		await page.getByRole('button', { name: 'Show the plan' }).click();
		await dialog.getByRole('button', { name: 'Do it' }).click();
		await page.getByRole('button', { name: 'active 2' }).waitFor({ timeout: 60000 });
		await picture(page, 'cluster');
		await accessible(page);
		assert.equal(api('/v1/nodes/n1').role, 'batch');
		assert.deepEqual(page.wrong, []);
	},

	async 'a hand-over that another orders is seen with its step'(browser) {
		const page = await signIn(browser, 'root');
		await count(page, 6);
		// its agent stands still for as long as a step is looked for
		process.kill(Number(process.env.AGENT_PID), 'SIGSTOP');
		api('/v1/actions/assign', '-d', '{"nodes": "n4", "role": "web"}');
		await page.getByRole('region', { name: 'Hand-overs' }).getByText(/\(\d+ of \d+\) → web/).waitFor();
		await picture(page, 'moving');
		process.kill(Number(process.env.AGENT_PID), 'SIGCONT');
		await walkTo(page, 'n4');
		await page.locator('#active-node').getByText('n4, active, role web').waitFor({ timeout: 60000 });
		await page.getByRole('region', { name: 'Hand-overs' }).waitFor({ state: 'detached' });
	},

	async 'who may not order nodes is shown no way to, and is refused'(browser) {
		const page = await signIn(browser, 'nobody');
		await count(page, 6);
		await walkTo(page, 'n2');
		await page.keyboard.press('Space');
		assert.equal(await page.getByText('picked').count(), 0);
		const status = await page.evaluate(async () => {
			const { token } = await (await fetch('/v1/session')).json();
			return (await fetch('/v1/actions/drain', { method: 'POST', headers: { 'Phoenix-Token': token }, body: '{"nodes": "n2"}' })).status;
		});
		assert.equal(status, 403);
		await page.keyboard.press('Enter');
		const node = page.getByRole('complementary', { name: 'Node n2' });
		await node.getByRole('heading', { name: 'Log' }).waitFor();
		assert.ok(!(await node.textContent()).includes('SN2'), 'a serial number is shown');
		await picture(page, 'cluster-user');
	},

	async 'a head that is started again signs out, and a link goes on'(browser) {
		const page = await signIn(browser, 'root');
		await count(page, 6);
		stopHead();
		await page.getByText('The head does not answer. What').waitFor();
		await picture(page, 'away');
		startHead();
		await page.getByText('The head was started again').waitFor({ timeout: 90000 });
		await picture(page, 'restarted');
		await accessible(page);
	},
};
