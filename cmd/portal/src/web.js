// Web services: the instances behind each address, what each has to do, and what the managers of their runtime environments decided and why.
import { useEffect, useMemo } from 'preact/hooks';
import { Follow } from './follow.js';
import { html } from './html.js';
import { address } from './route.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { moment } from './words.js';

const LOOK_S = 5; // connections and use are told with heartbeats, which are no events
const isAbout = (event) => /^(re_|report$|missing$|quiet$|back$|step_result$)/.test(event.kind);

const isWeb = (re) => re.manager; // of those whose use the asker may see
async function read(ask) {
	const [balance, { res }] = await Promise.all([ask('/v1/balance'), may('re_see') ? ask('/v1/res') : { res: [] }]);
	return { ...balance, res: res.filter(isWeb) };
}

const percent = (ppm) => (Number.isInteger(ppm) && ppm >= 0 ? `${(ppm / 10000).toFixed(1)} %` : '');

function Directors({ of }) {
	if (!of.directors.length)
		return html`<p class="notice">There is no director: give a node the role of one (phoenix-role(5), director), and it takes the addresses.</p>`;
	const acting = of.directors.filter((d) => d.acting).map((d) => d.node);
	const names = acting.length > 1 ? `${acting.slice(0, -1).join(', ')} and ${acting.at(-1)}` : acting[0];
	return html`<p role="status">${names ? html`<b>${names}</b> ${acting.length > 1 ? 'direct' : 'directs'}; ${of.in_force ? 'what is shown is in force there.' : 'what is shown is not in force there yet.'}` : 'No director is up: nobody is served.'}
		${' '}${of.directors.map((d) => html`<span key=${d.node} class=${`state ${d.up ? d.acting ? 'running' : 'queued' : 'failed'}`}>${d.node}: ${d.up ? d.acting ? 'acts' : 'stands by' : 'is down'}</span> `)}</p>`;
}

function Server({ server }) {
	const name = server.node || server.address;
	return html`<tr><td>${server.node ? html`<a href=${address('cluster', server.node)}>${name}</a>` : name}</td><td>${server.address}</td><td>${server.pool}</td>
		<td><span class=${`state ${server.weight ? 'running' : 'queued'}`}>${server.weight || '0, gets no more'}</span></td><td>${server.active}</td><td>${server.inactive}</td>
		<td>${percent(server.use_ppm)}</td><td>${server.use_reason}</td></tr>`;
}

function Service({ service }) {
	const id = `web-${service.address}-${service.port}`;
	return html`<section aria-labelledby=${id}><h2 id=${id}>${service.address}, port ${service.port}</h2><p class="quiet">${service.director ? html`<b>${service.director}</b> has the address${service.since_ms ? ` since ${moment(service.since_ms)}` : ''}; connections` : 'Nobody has the address; connections'} go by ${service.scheduler}.</p>
		${service.servers.length ? html`<div class="wide" tabindex="0" role="region" aria-label=${`Instances of ${service.address}, port ${service.port}`}><table class="jobs"><thead><tr>
			${['Node', 'Address', 'Pool', 'Weight', 'Active', 'Inactive', 'CPU use', 'Why'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
			<tbody>${service.servers.map((s) => html`<${Server} key=${s.node || s.address} server=${s} />`)}</tbody></table></div>` : html`<p class="notice">No instance serves it now.</p>`}</section>`;
}

// What the mean of a window led to: an instance more, one less, or as many as there were.
function decided({ at_ms, instances, use_ppm, want }) {
	const what = want > instances ? `${want - instances} more` : want < instances ? `${instances - want} fewer` : 'as many';
	return `${moment(at_ms)}: ${instances} used ${percent(use_ppm)} on average: ${what}`;
}

function Manager({ re }) {
	const m = re.manager, id = `manager-${re.name}`, now = percent(re.use?.ppm);
	return html`<section aria-labelledby=${id}><h2 id=${id}>The manager of ${re.name}</h2>
		<p>${m.instances} of ${m.want} wanted instances. Every ${m.window_s} s it takes the mean of their CPU use: above ${percent(m.above_ppm)} it asks for one more,
			below ${percent(m.below_ppm)} it gives one back${now && html`; now it is <b>${now}</b>`}.</p>
		${re.use?.unknown?.length > 0 && html`<ul class="notice plain">${re.use.unknown.map((u) => html`<li key=${u.node}>The use of ${u.node} is not known: ${u.reason || u.waits}</li>`)}</ul>`}
		<ol class="log">${[...m.decisions].reverse().map((d) => html`<li key=${d.at_ms}>${decided(d)}</li>`)}</ol>
		${!m.decisions.length && html`<p class="quiet">It has decided nothing yet.</p>`}</section>`;
}

export function Web() {
	const list = useMemo(() => new Follow(read, isAbout, () => LOOK_S), []);
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	const of = useSubject(list.value), error = useSubject(list.error);
	return html`<div class="cluster"><div class="bar"><h1>Web services</h1><span class="quiet" role="status">${of ? of.services.length === 1 ? 'one service' : `${of.services.length} services` : 'reading …'}</span>
			${may('re_history') && html`<a class="by" href=${address('timeline')}>Demand, use and response times over time</a>`}</div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		${of && html`<${Directors} of=${of} />${of.services.map((s) => html`<${Service} key=${`${s.address}:${s.port}`} service=${s} />`)}
			${of.res.map((r) => html`<${Manager} key=${r.name} re=${r} />`)}`}</div>`;
}
