// The page of web services: what serves, with which weight and use, who directs, and what the manager decided, as the head tells it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessible, picture, signIn } from './browser.mjs';

const api = (path) => JSON.parse(execFileSync('curl', ['-sS', '--unix-socket', process.env.PHX_SOCKET, `http://unix${path}`], { encoding: 'utf8' }));
async function open(browser, user) {
	const page = await signIn(browser, user);
	await page.getByRole('link', { name: 'Web services' }).click();
	await page.getByRole('heading', { name: 'Web services' }).waitFor();
	return page;
}
const row = (page, node) => page.getByRole('row', { name: new RegExp(`^${node} `) });

export const tests = {
	async 'instances, weights, connections and use are those of the head'(browser) {
		const page = await open(browser, 'games');
		const { services, directors } = api('/v1/balance');
		const service = services.find((s) => s.address === '127.9.9.90'); // that of the role has no instance
		assert.equal(service.servers.length, 1);
		const [server] = service.servers;
		await page.getByRole('heading', { name: `${service.address}, port ${service.port}` }).waitFor();
		const cells = await row(page, server.node).getByRole('cell').allTextContents();
		assert.deepEqual(cells.slice(0, 3), [server.node, server.address, 'shop']);
		assert.equal(cells[3], '1');
		assert.match(cells[6], /^\d+\.\d %$/);
		assert.equal(directors.length, 0);
		await page.getByText('There is no director').waitFor();
		await accessible(page);
		await picture(page, 'web');
		assert.deepEqual(page.wrong, []);
	},

	async 'what the manager decided is told with its reason'(browser) {
		const page = await open(browser, 'games');
		const manager = page.getByRole('region', { name: 'The manager of shop' });
		await manager.getByText('above 80.0 % it asks for one more').waitFor();
		await manager.getByText(/used \d+\.\d % on average: (as many|1 more|1 fewer)/).first().waitFor();
		const { manager: told } = api('/v1/res/shop');
		assert.equal(await manager.getByRole('listitem').count(), told.decisions.length);
	},

	async 'an instance that is not healthy is seen to get no more'(browser) {
		const page = await open(browser, 'games');
		execFileSync('touch', [`${process.env.PORTAL_WORK}/ill`]);
		await page.getByText('0, gets no more').waitFor();
		execFileSync('rm', [`${process.env.PORTAL_WORK}/ill`]);
		await page.getByText('0, gets no more').waitFor({ state: 'detached' });
		assert.deepEqual(page.wrong, []);
	},

	async 'who is not of the RE sees what serves, and nothing of its manager'(browser) {
		const page = await open(browser, 'daemon');
		await page.getByRole('region', { name: /^Instances of/ }).waitFor();
		assert.equal(await page.getByRole('region', { name: 'The manager of shop' }).count(), 0);
		await page.goBack();
		await page.getByRole('heading', { name: 'Cluster' }).waitFor();
	},
};
