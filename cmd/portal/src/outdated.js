// Said on a page that was loaded before the head had others: it goes on, and is loaded anew when its reader wants to.
import { html } from './html.js';
import { outdated } from './session.js';
import { useSubject } from './subject.js';

export function Outdated() {
	return useSubject(outdated) && html`<p class="away" role="alert">The head has newer pages than this one, since Phoenix was updated. Load them when nothing
		that you typed is left to send: <button type="button" onClick=${() => location.reload()}>Load the new pages</button></p>`;
}
