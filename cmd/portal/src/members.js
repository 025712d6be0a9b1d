// Who belongs to a runtime environment: its owner, users and groups, named and struck out.
import { useState } from 'preact/hooks';
import { post } from './api.js';
import { html } from './html.js';

const words = (list) => (list ?? '').split(/[ ,]+/).filter(Boolean);

export function Members({ name, agreement, may, onDone }) {
	const [who, setWho] = useState('');
	const [said, setSaid] = useState('');
	const order = (body) => post(`/v1/res/${encodeURIComponent(name)}/members`, body).then(() => { setSaid(''); setWho(''); onDone(); }, (e) => setSaid(e.message));
	const members = [...words(agreement.users), ...words(agreement.groups).map((g) => `group:${g}`)];
	const add = (e) => {
		e.preventDefault();
		if (who.trim())
			order({ add: who.trim() });
	};
	return html`<section aria-label="Members"><h3>Members</h3><ul class="plain members"><li>${agreement.owner} <span class="quiet">owner</span></li>
		${members.map((m) => html`<li key=${m}>${m} ${may && html`<button type="button" aria-label=${`Strike out ${m}`} onClick=${() => order({ remove: m })}>Strike out</button>`}</li>`)}</ul>
		${may && html`<form class="inline" onSubmit=${add}><label>unix:NAME, cert:NAME, group:NAME or * <input value=${who} maxlength="200" onInput=${(e) => setWho(e.target.value)} /></label><button type="submit">Name as a member</button></form>`}
		${said && html`<p class="trouble" role="alert">${said}</p>`}</section>`;
}
