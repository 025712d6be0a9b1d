// The agreements: those that who is signed in may see, what is asked for, what was refused and why; and the way to ask for one.
import { useState } from 'preact/hooks';
import { AgreementForm } from './agreement_form.js';
import { AgreementView } from './agreement.js';
import { html } from './html.js';
import { address, go } from './route.js';
import { may } from './session.js';
import { useRes } from './use_res.js';
import { moment } from './words.js';

const bounds = (g) => (g.upper && g.upper === g.lower ? String(g.upper) : g.upper ? `${g.lower} to ${g.upper}` : `${g.lower} and more`);

function Row({ re, here }) {
	const g = re.agreement ?? {};
	return html`<tr aria-current=${here ? 'true' : undefined}><td><a href=${address('agreements', re.name)}>${re.name}</a></td>
		<td><span class=${`re-state ${re.state}`}>${re.state}</span></td><td>${g.type ?? re.type}</td><td>${re.owner_name ?? g.owner}</td>
		<td>${re.agreement ? bounds(g) : ''}</td><td>${re.nodes.held ?? ''}</td><td>${re.nodes.coming ?? ''}</td><td>${re.paired_with ?? ''}</td></tr>`;
}

function Table({ res, item }) {
	if (!res.length)
		return html`<p class="notice">There is no runtime environment that you may see.</p>`;
	return html`<div class="wide" tabindex="0" role="region" aria-label="Runtime environments"><table class="res"><thead><tr>
		${['RE', 'State', 'Type', 'Owner', 'Nodes agreed', 'Held', 'Coming', 'Shares with'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
		<tbody>${res.map((r) => html`<${Row} key=${r.name} re=${r} here=${r.name === item} />`)}</tbody></table></div>`;
}

function Refused({ list }) {
	return list.length > 0 && html`<section class="sheet" aria-label="Refused"><h2>Refused</h2><ul class="plain">
		${list.map((r) => html`<li key=${r.name + r.owner}><b>${r.name}</b> of ${r.owner}: ${r.text || 'no reason was given'} <span class="quiet">${moment(r.at_ms)}, by ${r.by}</span></li>`)}
	</ul></section>`;
}

export function Agreements({ item }) {
	const { list, all, error } = useRes();
	const [writes, setWrites] = useState(false);
	const res = all?.res ?? [];
	const done = (name) => {
		setWrites(false);
		list.read().catch(() => {});
		go('agreements', name);
	};
	const again = () => list.read().catch(() => {});
	return html`<div class=${`cluster ${item ? 'beside' : ''}`}>
		<div class="bar"><h1>Agreements</h1><span class="quiet" role="status">${all ? res.length === 1 ? 'one' : `${res.length} of them` : 'reading …'}</span>
			${may('re_order') && !writes && html`<button type="button" class="main" onClick=${() => setWrites(true)}>Ask for an RE</button>`}</div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		${writes && html`<${AgreementForm} onDone=${done} onLeave=${() => setWrites(false)} />`}
		${all && html`<${Table} res=${res} item=${item} />`}
		${all && html`<${Refused} list=${all.refused} />`}
		${item && html`<${AgreementView} key=${item} name=${item} known=${res.find((r) => r.name === item)} onChange=${again} />`}
	</div>`;
}
